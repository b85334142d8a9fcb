/* Devices by name. */
#include "run/devices.h"

#include <string.h>

#include "cpu/device_cpu.h"
#include "cuda/step/device_cuda.h"
#include "machine/check_guard.h"
#include "machine/wire_room.h"

static const struct {
    const char        *name;
    const device_kind *kind; /* NULL: not part of this program */
    bool               checked;
} devices[] = {
    {"cpu", &device_cpu, false},
    {"cuda", &device_cuda, false},
    {"check", &device_cpu, true},
    {"check:cuda", &device_cuda, true},
};
enum { NDEVICES = sizeof devices / sizeof *devices };

static int find_device(const char *name)
{
    int k = 0;
    while (k < NDEVICES && strcmp(devices[k].name, name) != 0) k++;
    return k;
}

static device *refuse_name(mtf_session *s)
{
    nearest near = {.wanted = s->opts.device};
    char    hint[100];
    for (int k = 0; k < NDEVICES; k++) nearest_offer(&near, devices[k].name);
    fail(&s->fault, ERR_USAGE, "no device is called \"%s\"; there are cpu, cuda, check and check:cuda%s",
         s->opts.device, nearest_hint(&near, hint, sizeof hint));
    return NULL;
}

static device *checked(mtf_session *s, device *inner)
{
    device *outer = inner ? device_check_open(s, inner) : NULL;
    if (inner && !outer) inner->close(inner);
    return outer;
}

device *devices_open(mtf_session *s)
{
    int k = find_device(s->opts.device);
    if (k == NDEVICES) return refuse_name(s);
    if (devices[k].kind) return devices[k].checked ? checked(s, devices[k].kind->open(s)) : devices[k].kind->open(s);
    fail(&s->fault, ERR_USAGE, "this mtf was built without CUDA; configure it with -DMTF_CUDA=ON for the device cuda");
    return NULL;
}

/* A program without CUDA plans for GPUs as well, without what only they know. */
static const device_kind *kind_of(const mtf_session *s)
{
    int k = find_device(s->opts.device);
    return k < NDEVICES && devices[k].kind ? devices[k].kind : &device_cpu;
}

site devices_site(const mtf_session *s, int threads)
{
    return (site){.threads = threads,
                  .gpus = abilities_of_gpu(s->opts.device),
                  .scratch_bytes = kind_of(s)->scratch_bytes,
                  .wire_bytes = wire_room_bytes};
}

int64_t devices_memory_each(const mtf_session *s, int processors)
{
    if (kind_of(s)->memory_each && s->default_memory) return kind_of(s)->memory_each(processors);
    return (int64_t)(s->opts.memory / (size_t)processors);
}

instr_way *devices_way(const mtf_session *s)
{
    return kind_of(s)->way;
}

int64_t devices_guard(const mtf_session *s)
{
    return device_is_checked(s) ? CHECK_GUARD : 0;
}
