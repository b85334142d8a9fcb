/* The library's plans for attention: one for each form, made beside other work. */
#ifndef MACHINE_ATTENTION_PLANS_H
#define MACHINE_ATTENTION_PLANS_H

#include "machine/cuda/attention_graph.h"
#include "machine/cuda/library_attention.h"
#include "machine/cuda/side_job.h"

#if MTF_HAVE_CUDNN
typedef struct attention_plan {
    attention_problem problem;
    int64_t           most; /* bytes of working space that it may have */
    cuda_context     *context;
    side_job          job; /* has what follows while it runs */
    cudnnHandle_t     handle;
    CUstream          stream; /* the handle's */
    dnn_plan          plan;   /* none: our kernels are taken */
} attention_plan;

/* What one call of the library computes for an instruction that it can carry out, and the working space
 * that it may have. */
attention_problem library_attention_problem(const instr *i, int64_t *most);

/* Waits until it is made; NULL: there is none for this. */
attention_plan *attention_plan_find(cuda_context *c, const attention_problem *p);
cudnnStatus_t   attention_plan_run(cuda_context *c, attention_plan *p, dnn_part pack);
#endif

#endif
