/* Failures on purpose, so that tests see what follows from them.
 *
 * MTF_HOST_CUDA_FAIL=KIND:N lets call number N of a kind fail, counted from 1 in each process:
 * memory and pinned allocate, launch starts a kernel, kernel runs one, replay replays a captured step,
 * group begins messages that NCCL sends together.
 */
#ifndef HOST_FAULT_H
#define HOST_FAULT_H

#include <cuda.h>
#include <stdbool.h>

typedef enum fault_kind {
    FAULT_MEMORY,
    FAULT_PINNED,
    FAULT_LAUNCH,
    FAULT_KERNEL,
    FAULT_PLAY,
    FAULT_GROUP,
    FAULT_KINDS
} fault_kind;

/* Counts a call; true: this one fails. */
bool host_fails(fault_kind kind);
/* A kernel has failed while it ran: from now on all calls answer with this. */
void     host_break(CUresult with);
CUresult host_broken(void); /* CUDA_SUCCESS: nothing is broken */

#endif
