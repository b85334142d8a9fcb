/* Devices by name. */
#include "run/devices.h"

#include <string.h>

#include "cpu/cpu_abilities.h"
#include "cpu/device_cpu.h"
#include "cuda/known/cuda_abilities.h"
#include "cuda/known/cudnn_use.h"
#include "cuda/step/device_cuda.h"
#include "machine/check_guard.h"
#include "machine/device_check.h"
#include "machine/wire_room.h"
#include "price/gpu_rates.h"

static const struct {
    const char *name;
    abilities (*abilities)(void);
    const device_kind *kind; /* NULL: not part of this program */
    bool (*check)(fault *f); /* of what the user says about it; NULL: nothing */
    bool checked;
} devices[] = {
    {"cpu", cpu_abilities, &device_cpu, NULL, false},
    {"cuda", cuda_abilities, &device_cuda, cudnn_use_check, false},
    {"check", cpu_abilities, &device_cpu, NULL, true},
    {"check:cuda", cuda_abilities, &device_cuda, cudnn_use_check, true},
};
enum { NDEVICES = sizeof devices / sizeof *devices };

static int find_device(const char *name)
{
    int k = 0;
    while (k < NDEVICES && strcmp(devices[k].name, name) != 0) k++;
    return k;
}

/* Of a name that is not a device's, until that is refused, the abilities of the first. */
static int find_or_first(const char *name)
{
    int k = find_device(name);
    return k < NDEVICES ? k : 0;
}

/* Instructions of a checked device are looked at one by one.  Until one is opened, or a machine chosen, a device
 * is the one that its machine file describes. */
abilities devices_abilities(const char *name)
{
    int       k = find_or_first(name);
    abilities can = devices[k].abilities();
    if (devices[k].checked) can.overlaps = false;
    if (can.machine) can.multiprocessors = gpu_machine_multiprocessors(can.machine);
    return can;
}

bool devices_use(mtf_session *s, const char *name)
{
    int k = find_or_first(name);
    s->opts.device = name;
    s->can = devices_abilities(name);
    return !devices[k].check || devices[k].check(&s->fault);
}

static device *refuse_name(mtf_session *s)
{
    nearest near = {.wanted = s->opts.device};
    char    hint[100];
    for (int k = 0; k < NDEVICES; k++) nearest_offer(&near, devices[k].name);
    fail(&s->fault, ERR_USAGE,
         "no device is called \"%s\"; there are cpu, cuda, check and check:cuda%s", s->opts.device,
         nearest_hint(&near, hint, sizeof hint));
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
    if (devices[k].kind)
        return devices[k].checked ? checked(s, devices[k].kind->open(s)) : devices[k].kind->open(s);
    fail(&s->fault, ERR_USAGE,
         "this mtf was built without CUDA; configure it with -DMTF_CUDA=ON for the device cuda");
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
                  .library = s->can.collectives,
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
