/* Steps of programs on a GPU, queued instruction by instruction. */
#include "cuda/step/cuda_program.h"

#include "cuda/driver/cuda_use.h"
#include "cuda/driver/cuda_wait.h"
#include "cuda/step/cuda_beside.h"
#include "cuda/step/cuda_loops.h"
#include "cuda/step/cuda_prepared.h"
#include "machine/device_check.h"

/* So few bytes of ordinary memory are copied away before the call returns. */
bool cuda_write_words(cuda_context *c, const run_state *r, CUstream on)
{
    const prepared_program *q = r->prepared;
    if (!q->uses_words) return true;
    step_words words = {.seed = r->seed, .step = r->step};
    CUDA_TRY(c, cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)q->words, &words, sizeof words, on),
             "take the number of the step");
    return true;
}

cuda_beside *cuda_beside_of(const run_state *r)
{
    return &((prepared_program *)r->prepared)->beside;
}

bool cuda_begin(device_context *face, const program *p, run_state *r)
{
    cuda_context *c = cuda_of(face);
    (void)p;
    cuda_beside_of(r)->last = -1;
    c->wires = c->stream;
    c->after_kernel = false;
    c->mirror = NULL;
    return cuda_use(c) && (c->capturing || cuda_write_words(c, r, c->stream));
}

static bool not_computed(cuda_context *c, const instr *i, CUresult why)
{
    return fail(cuda_fault(c), ERR_DEVICE, "the GPU could not compute \"%s\": %s (%d)",
                mtf_name_of_tensor(i->cause), cuda_says(&c->device->api, why), (int)why);
}

/* A kernel after another one is started before that one ends, and waits by itself: so it costs less to
 * start. */
static CUresult start_kernel(cuda_context *c, const prepared_launch *l, void **parameters)
{
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value = {.programmaticStreamSerializationAllowed = 1}};
    CUlaunchConfig    how = {.gridDimX = l->blocks,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = l->threads,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .sharedMemBytes = l->shared,
                             .hStream = c->stream,
                             .attrs = &early,
                             .numAttrs = c->after_kernel && c->gpu->starts_early && !cuda_in_loop(c)};
    c->after_kernel = true;
    return c->device->api.driver.cuLaunchKernelEx(&how, l->function, parameters, NULL);
}

static bool launch(cuda_context *c, const instr *i, const prepared_instr *q)
{
    for (int k = 0; k < q->nlaunches; k++) {
        CUresult started = start_kernel(c, &q->launch[k], q->parameters);
        if (started == CUDA_SUCCESS) continue;
        /* What failed before, on this stream or another of the GPU, is not this instruction.  A stream
         * that captures cannot be waited for. */
        TRY(c->capturing || cuda_finish(c, "finish its work"));
        return not_computed(c, i, started);
    }
    return true;
}

static bool queue(cuda_context *c, const instr *i, const prepared_instr *q, const run_state *r)
{
    if (q->product) {
        c->after_kernel = false;
        TRY(product_run(c, q->product, q->addresses, r->scratch));
    } else if (q->library) {
        c->after_kernel = false;
        TRY(library_run(c, q->library, i));
    } else {
        TRY(launch(c, i, q));
    }
    for (int k = 0; k < q->nafter; k++) TRY(queue(c, i, &q->after[k], r));
    return true;
}

/* Waits for an instruction, so that a kernel that fails is known by the tensor it computes. */
static bool queue_and_wait(cuda_context *c, const instr *i, const prepared_instr *q,
                           const run_state *r)
{
    CUresult done;
    TRY(cuda_finish(c, "finish its work") && queue(c, i, q, r) && cuda_outcome(c, &done));
    return done == CUDA_SUCCESS || not_computed(c, i, done);
}

bool cuda_run(device_context *face, const program *p, int index, run_state *r)
{
    cuda_context           *c = cuda_of(face);
    const prepared_program *q = r->prepared;
    const instr            *i = &p->instrs[index];
    if (r->done) atomic_fetch_add_explicit(&r->done->flops, i->flops, memory_order_relaxed);
    TRY(q->proven ? queue(c, i, &q->instrs[index], r) : queue_and_wait(c, i, &q->instrs[index], r));
    if (!q->alone) c->after_kernel = false;
    return true;
}

/* Kernels that fail mostly do so in their first step, which takes longest anyway. */
bool cuda_end(device_context *face, const program *p, run_state *r)
{
    prepared_program *q = r->prepared;
    TRY(cuda_order(face, p, p->ninstrs, r));
    q->proven = !device_is_checked(face->device->session);
    cuda_of(face)->after_kernel = false;
    return true;
}
