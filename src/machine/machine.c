/* Memory and kernels: where programs run. */
#include "machine/machine.h"

#include <string.h>

#include "machine/check_guard.h"
#include "machine/kernels/kernels.h"
#include "machine/wire_room.h"

static const char *const names[] = {"cpu", "check"};

device *machine_open(mtf_session *s)
{
    const char *name = s->opts.device;
    if (strcmp(name, "cpu") == 0) return device_cpu_open(s);
    if (strcmp(name, "check") == 0) {
        device *inner = device_cpu_open(s), *outer = inner ? device_check_open(s, inner) : NULL;
        if (inner && !outer) inner->close(inner);
        return outer;
    }
    nearest near = {.wanted = name};
    char    hint[100];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) nearest_offer(&near, names[i]);
    fail(&s->fault, ERR_USAGE, "no device is called \"%s\"; there are cpu and check%s", name,
         nearest_hint(&near, hint, sizeof hint));
    return NULL;
}

static int64_t scratch_bytes(const program *p, int threads)
{
    return (int64_t)kernels_scratch_bytes(p, threads);
}

site machine_site(int threads)
{
    return (site){
        .threads = threads, .scratch_bytes = scratch_bytes, .wire_bytes = wire_room_bytes};
}

bool machine_checks(const mtf_session *s)
{
    return strcmp(s->opts.device, "check") == 0;
}

int64_t machine_guard(const mtf_session *s)
{
    return machine_checks(s) ? CHECK_GUARD : 0;
}
