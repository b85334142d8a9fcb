/* The library's plans: one for each problem, made beside other work.
 *
 * The first time the library compiles kernels, which takes most of a second.  Plans are kept
 * on disk, by all that they depend on.
 */
#ifndef CUDA_LIBRARY_DNN_PLANS_H
#define CUDA_LIBRARY_DNN_PLANS_H

#include "cuda/driver/cuda_device.h"
#include "cuda/library/dnn_graph.h"

#if MTF_HAVE_CUDNN
enum { MOST_DNN_NUMBERS = 64 };

/* What is asked of the library. */
typedef struct dnn_request {
    const char *kind;                  /* of problem, and the version of what it becomes */
    int64_t problem[MOST_DNN_NUMBERS]; /* all that a plan depends on besides the GPU and library */
    void (*build)(dnn_graph *g, const int64_t *problem);
    dnn_limits limits;
} dnn_request;

typedef struct dnn_made dnn_made;

/* Is the library there?  Then plans can be begun. */
bool dnn_plans_open(cuda_context *c);
/* Begins to make it, unless that is done, and holds it; NULL: there is no memory for it. */
dnn_made *dnn_plans_begin(cuda_context *c, const dnn_request *r);
/* A plan is kept while something holds it; of the others as many as the limit allows, the last used ones. */
void dnn_plans_hold(cuda_context *c, dnn_made *p);
void dnn_plans_let(cuda_context *c, dnn_made *p);
bool dnn_plans_is_begun(const cuda_context *c, const dnn_request *r);
/* Waits until it is made; NULL: there is none for this. */
dnn_made     *dnn_plans_find(cuda_context *c, const dnn_request *r);
cudnnStatus_t dnn_plans_run(cuda_context *c, dnn_made *p, dnn_part pack);
void          dnn_plans_close(cuda_context *c);
#endif

#endif
