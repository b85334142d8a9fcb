/* Memory and kernels: where programs run. */
#include "machine/machine.h"

#include <string.h>

#include "machine/check_guard.h"
#include "machine/kernels/contract_way.h"
#include "machine/kernels/kernels.h"
#include "machine/wire_room.h"

static const char *const names[] = {"cpu", "cuda", "check", "check:cuda"};

static device *open_cuda(mtf_session *s)
{
    if (&machine_cuda) return machine_cuda.open(s);
    fail(&s->fault, ERR_USAGE,
         "this mtf was built without CUDA; configure it with -DMTF_CUDA=ON for the device cuda");
    return NULL;
}

/* The functions of cards, if the session's device is one; NULL: it is not. */
static const card_functions *cards_of(const mtf_session *s)
{
    return abilities_of_card(s->opts.device) && &machine_cuda ? &machine_cuda : NULL;
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
    if (cards_of(s)) here.scratch_bytes = cards_of(s)->scratch_bytes;
    return here;
}

int64_t machine_memory_each(const mtf_session *s, int processors)
{
    if (cards_of(s) && s->default_memory) return cards_of(s)->memory_each(processors);
    return (int64_t)(s->opts.memory / (size_t)processors);
}

static const char *way_of_chip(const instr *i)
{
    return i->kind == INSTR_CONTRACT ? contract_way_name(contract_way_of(i)) : NULL;
}

instr_way *machine_way(const mtf_session *s)
{
    return cards_of(s) ? cards_of(s)->way : way_of_chip;
}

bool machine_checks(const mtf_session *s)
{
    return strncmp(s->opts.device, "check", 5) == 0;
}

int64_t machine_guard(const mtf_session *s)
{
    return machine_checks(s) ? CHECK_GUARD : 0;
}
