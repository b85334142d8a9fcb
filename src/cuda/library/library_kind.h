/* What cuDNN is asked to compute, by kind of instruction. */
#ifndef CUDA_LIBRARY_LIBRARY_KIND_H
#define CUDA_LIBRARY_LIBRARY_KIND_H

#include "cuda/library/dnn_plans.h"

/* An instruction as calls of the library. */
typedef struct library_calls {
#if MTF_HAVE_CUDNN
    dnn_made *plan;
    dnn_part *packs; /* of each call */
#endif
    int n;
} library_calls;

#if MTF_HAVE_CUDNN
typedef struct library_kind {
    bool (*suits)(const instr *i);
    int64_t (*bytes)(const instr *i);
    bool (*is_known)(const cuda_gpu *k); /* does the GPU compute it as it should? */
    dnn_request (*request)(const instr *i);
    /* Makes the packs of all calls; false: it was not possible. */
    bool (*pack)(cuda_context *c, arena *a, const instr *i, void *const *addresses, void *workspace,
                 library_calls *to);
} library_kind;
#endif

#endif
