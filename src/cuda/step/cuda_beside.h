/* Collectives beside other work. */
#ifndef CUDA_STEP_CUDA_BESIDE_H
#define CUDA_STEP_CUDA_BESIDE_H

#include "cuda/driver/cuda_device.h"
#include "program/hazards.h"

typedef struct cuda_beside {
    hazards  when;
    CUevent *ended; /* by instruction: after a collective that something waits for; NULL: none */
    int      last;  /* the last collective of this step that was queued beside other work */
} cuda_beside;
bool         cuda_beside_open(cuda_context *c, const program *p, arena *a, cuda_beside *b);
void         cuda_beside_close(cuda_context *c, const program *p, cuda_beside *b);
bool         cuda_order(device_context *c, const program *p, int index, run_state *r);
bool         cuda_collected(device_context *c, const program *p, int index, run_state *r);
cuda_beside *cuda_beside_of(const run_state *r);

#endif
