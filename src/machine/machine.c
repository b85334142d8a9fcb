/* Memory and kernels: where programs run. */
#include "machine/machine.h"

#include <string.h>

#include "machine/check_guard.h"
#include "machine/kernels/contract_way.h"
#include "machine/kernels/kernels.h"
#include "mtf_build.h"
#if MTF_HAVE_CUDA
#include "machine/cuda/cuda_device.h"
#endif
#include "machine/wire_room.h"

static const char *const names[] = {"cpu", "cuda", "check", "check:cuda"};

static device *open_cuda(mtf_session *s)
{
#if MTF_HAVE_CUDA
    return device_cuda_open(s);
#else
    fail(&s->fault, ERR_USAGE,
         "this mtf was built without CUDA; configure it with -DMTF_CUDA=ON for the device cuda");
    return NULL;
#endif
}

static device *checked(mtf_session *s, device *inner)
{
    device *outer = inner ? device_check_open(s, inner) : NULL;
    if (inner && !outer) inner->close(inner);
    return outer;
}

device *machine_open(mtf_session *s)
{
    const char *name = s->opts.device;
    if (strcmp(name, "cpu") == 0) return device_cpu_open(s);
    if (strcmp(name, "cuda") == 0) return open_cuda(s);
    if (strcmp(name, "check") == 0) return checked(s, device_cpu_open(s));
    if (strcmp(name, "check:cuda") == 0) return checked(s, open_cuda(s));
    nearest near = {.wanted = name};
    char    hint[100];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) nearest_offer(&near, names[i]);
    fail(&s->fault, ERR_USAGE, "no device is called \"%s\"; there are cpu, cuda, check and check:cuda%s", name,
         nearest_hint(&near, hint, sizeof hint));
    return NULL;
}

static int64_t scratch_bytes(const program *p, int threads)
{
    return (int64_t)kernels_scratch_bytes(p, threads);
}

site machine_site(const mtf_session *s, int threads)
{
    site here = {.threads = threads, .scratch_bytes = scratch_bytes, .wire_bytes = wire_room_bytes};
    here.cards = abilities_of_card(s->opts.device);
#if MTF_HAVE_CUDA
    if (here.cards) here.scratch_bytes = cuda_scratch;
#endif
    return here;
}

int64_t machine_memory_each(const mtf_session *s, int processors)
{
#if MTF_HAVE_CUDA
    if (abilities_of_card(s->opts.device) && s->default_memory) return cuda_memory_each(processors);
#endif
    return (int64_t)(s->opts.memory / (size_t)processors);
}

static const char *way_of_chip(const instr *i)
{
    return i->kind == INSTR_CONTRACT ? contract_way_name(contract_way_of(i)) : NULL;
}

instr_way *machine_way(const mtf_session *s)
{
#if MTF_HAVE_CUDA
    if (abilities_of_card(s->opts.device)) return cuda_way;
#else
    (void)s;
#endif
    return way_of_chip;
}

bool machine_checks(const mtf_session *s)
{
    return strncmp(s->opts.device, "check", 5) == 0;
}

int64_t machine_guard(const mtf_session *s)
{
    return machine_checks(s) ? CHECK_GUARD : 0;
}
