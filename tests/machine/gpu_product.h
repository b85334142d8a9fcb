/* A product on a GPU that is the host, as a program of one instruction.
 *
 * tests/host_cuda/README.md says what that is.
 */
#ifndef TESTS_MACHINE_GPU_PRODUCT_H
#define TESTS_MACHINE_GPU_PRODUCT_H

#include "cuda/step/device_cuda.h"
#include "machine/trial.h"
#include "run/emulated_gpu.h"

static mtf_session    *session;
static device         *cuda;
static device_context *context;
static bool            with_tf32;
static buffer_kind     result_kind; /* of the product's result */

static inline void gpu_open(void)
{
    session = mtf_open_with(&(mtf_session_opts){.threads = 1, .device = "cuda", .tf32 = with_tf32});
    cuda = device_cuda.open(session);
    context = cuda ? cuda->open_context(cuda, 0, 0) : NULL;
    if (!context) fail_msg("%s", mtf_error(session));
}

static inline void gpu_close(void)
{
    cuda->close_context(context);
    cuda->close(cuda);
    mtf_close(session);
}

/* Before and after all tests of a program. */
static inline int gpu_set_up(void **state)
{
    (void)state;
    load_emulated_gpu();
    setenv("MTF_CACHE_DIR", HOST_CUDA_FOLDER "/cache", 1);
    gpu_open();
    return 0;
}

static inline int gpu_tear_down(void **state)
{
    (void)state;
    gpu_close();
    return 0;
}

/* ---- one product ---- */

/* A program of one product, with its operands on the GPU. */
typedef struct loaded {
    program   program;
    buffer    buffers[MAX_OPERANDS];
    void     *base[MAX_OPERANDS];
    run_state run;
} loaded;

static inline size_t bytes_of(const trial *t, int operand)
{
    return (size_t)t->count[operand] * mtf_dtype_bytes(t->operands[operand].type);
}

static inline void assert_well(bool ok)
{
    if (!ok) fail_msg("%s", mtf_error(session));
}

/* With the instruction's outputs and inputs, which may be more than a product's. */
static inline void load_all(loaded *l, trial *t)
{
    *l = (loaded){.program = {.session = session, .instrs = &t->i, .ninstrs = 1}};
    l->program.nbuffers = t->noperands;
    l->program.buffers = l->buffers;
    l->buffers[0].kind = result_kind;
    for (int k = 0; k < t->noperands; k++) {
        assert_well((l->base[k] = cuda->alloc(context, bytes_of(t, k))) != NULL);
        cuda->write(context, l->base[k], t->memory[k], bytes_of(t, k));
    }
    l->run = (run_state){.base = l->base, .threads = 1};
    size_t scratch = cuda->scratch_bytes(cuda, &l->program, 1);
    assert_well((l->run.scratch = cuda->alloc(context, scratch)) != NULL);
    assert_well(cuda->prepare(context, &l->program, &l->run));
}

static inline void load(loaded *l, trial *t)
{
    t->i.out = t->operands, t->i.nout = 1;
    t->i.in = t->operands + 1, t->i.nin = 2;
    load_all(l, t);
}

static inline void unload(loaded *l)
{
    cuda->forget(context, &l->program, &l->run);
    for (int k = 0; k < l->program.nbuffers; k++) cuda->release(context, l->base[k], 0);
    cuda->release(context, l->run.scratch, 0);
}

static inline void step(loaded *l)
{
    assert_well(cuda->begin(context, &l->program, &l->run));
    assert_well(cuda->run(context, &l->program, 0, &l->run));
}

/* ---- many products ---- */

/* One operand over the batch loops and two of m, n, k; `transposed`: the first of the two innermost. */
static inline void product_operand(trial *t, mtf_dtype type, int p, int q, bool transposed,
                                   bool out)
{
    int     nbatch = t->i.nloops - 3, n = nbatch + 2, order[MAX_LOOPS], loops[MAX_LOOPS];
    int64_t size[MAX_LOOPS], stride[MAX_LOOPS];
    bool    repeated[MAX_LOOPS] = {0};
    shuffle(nbatch, order);
    for (int l = 0; l < nbatch; l++) {
        loops[l] = l;
        repeated[l] = !out && chance(4);
        size[l] = repeated[l] ? 1 : t->i.size[l];
    }
    loops[nbatch] = nbatch + p;
    loops[nbatch + 1] = nbatch + q;
    size[nbatch] = t->i.size[nbatch + p];
    size[nbatch + 1] = t->i.size[nbatch + q];
    order[nbatch] = transposed ? nbatch + 1 : nbatch;
    order[nbatch + 1] = transposed ? nbatch : nbatch + 1;
    int64_t count = lay_out(n, order, size, chance(2) ? pick(1, 5) : 0, stride);
    int64_t before = chance(3) ? pick(1, 9) : 0; /* elements: an operand need not be aligned */
    access *a = add_operand(t, type, before + count, out);
    a->offset = before;
    for (int k = 0; k < n; k++) a->stride[loops[k]] = k < nbatch && repeated[k] ? 0 : stride[k];
}

static inline trial random_product(mtf_dtype out, mtf_dtype in, int round)
{
    static const int64_t sizes[] = {1, 1, 2, 3, 5, 8, 13, 16, 31, 37, 64};
    int                  nbatch = (int)pick(0, 3);
    int64_t              size[6];
    for (int l = 0; l < nbatch; l++) size[l] = pick(1, 4);
    for (int l = 0; l < 3; l++) size[nbatch + l] = sizes[pick(0, 10)];
    trial t = trial_of(INSTR_CONTRACT, nbatch + 3, size);
    product_operand(&t, out, 0, 1, round & 1, true);
    product_operand(&t, in, 0, 2, round & 2, false);
    product_operand(&t, in, 2, 1, round & 4, false);
    return t;
}

#endif
