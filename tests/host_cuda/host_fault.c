/* Failures on purpose, so that tests see what follows from them. */
#include "host_fault.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int calls[FAULT_KINDS];
static _Atomic int broken = CUDA_SUCCESS;

bool host_fails(fault_kind kind)
{
    static const char *const names[] = {"memory", "pinned", "launch", "kernel", "replay", "group"};
    const char              *said = getenv("MTF_HOST_CUDA_FAIL");
    size_t                   length = strlen(names[kind]);
    int                      number = atomic_fetch_add(&calls[kind], 1) + 1;
    if (!said || strncmp(said, names[kind], length) != 0 || said[length] != ':') return false;
    return number == atoi(said + length + 1);
}

void host_break(CUresult with)
{
    broken = with;
}

CUresult host_broken(void)
{
    return (CUresult)broken;
}
