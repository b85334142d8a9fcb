/* Trials of kernels as text, each against the CPU's kernel.
 *
 * All kernels of a list of trials are compiled at once, for the host and, where NVRTC is
 * found, for a GPU.  Operands lie in the GPU's memory, whose guards are checked.
 */
#ifndef TESTS_MACHINE_GPU_TRIAL_H
#define TESTS_MACHINE_GPU_TRIAL_H

/* Before cmocka, as in trial.h. */
#include "base/session.h"
#include "cuda/driver/kernel_compile.h"
#include "cuda/write/kernel_source.h"

#include "machine/trial.h"

#include "machine/host_gpu.h"

enum { MOST_TRIALS = 400 };

typedef struct gpu_trials {
    int         n, nout;
    trial       trial[MOST_TRIALS];
    kernel_plan plan[MOST_TRIALS];
    double      allowed[DTYPES]; /* relative to the larger of 1 and the number */
    int         launches;        /* the most that one instruction has */
} gpu_trials;

static inline void gpu_trials_start(gpu_trials *l, int nout)
{
    *l = (gpu_trials){.nout = nout};
    l->allowed[MTF_F32] = 1e-6;
    l->allowed[MTF_F64] = 1e-14;
    l->allowed[MTF_BF16] = 0x1p-7;
    l->allowed[MTF_F16] = 0x1p-10;
}

static inline trial *gpu_trials_add(gpu_trials *l, trial t)
{
    assert_true(l->n < MOST_TRIALS);
    l->trial[l->n] = t;
    return &l->trial[l->n++];
}

/* Strides of an operand over dimensions in any order, some of them backwards, with gaps: returns
 * how many elements there are and sets the offset. */
static inline int64_t gpu_lay_out(int n, const int64_t *size, bool plain, access *a)
{
    int     order[MAX_LOOPS];
    int64_t count;
    shuffle(n, order);
    for (int k = 0; plain && k < n; k++) order[k] = k;
    a->offset = 0;
    count = lay_out(n, order, size, plain || chance(2) ? 0 : pick(1, 3), a->stride);
    for (int k = 0; k < n && !plain; k++) {
        if (size[k] < 1 || !chance(6)) continue;
        a->offset += (size[k] - 1) * a->stride[k];
        a->stride[k] = -a->stride[k];
    }
    if (!plain && chance(4)) {
        a->offset += 3;
        count += 3;
    }
    return count;
}

/* Adds an operand that lies as `a` says; those of no elements have memory, too. */
static inline access *gpu_operand(trial *t, const access *a, int64_t count, bool out)
{
    access *to = add_operand(t, a->type, count + 1, out);
    memcpy(to->stride, a->stride, sizeof a->stride);
    to->offset = a->offset;
    return to;
}

/* Some NaN, infinities and zeros of both signs among floats. */
static inline void gpu_make_wild(mtf_dtype type, void *to, int64_t count)
{
    static const double wild[] = {0.0, -0.0, (double)INFINITY, -(double)INFINITY, (double)NAN};
    if (!is_float(type)) return;
    for (int64_t k = 0; k < count; k++)
        if (chance(9)) dtype_store(type, to, k, wild[pick(0, chance(4) ? 4 : 3)]);
}

static inline bool gpu_near(mtf_dtype type, const void *a, const void *b, int64_t at,
                            double allowed)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(type);
    if (!memcmp((const char *)a + at * bytes, (const char *)b + at * bytes, (size_t)bytes))
        return true;
    if (!is_float(type)) return false;
    double x = dtype_load(type, a, at), y = dtype_load(type, b, at);
    if (x != x || y != y) return x != x && y != y;
    return x == y || fabs(x - y) <= allowed * fmax(1, fabs(x));
}

static inline void gpu_compare(const gpu_trials *l, int number, int out, const void *got)
{
    const trial *t = &l->trial[number];
    mtf_dtype    type = t->operands[out].type;
    for (int64_t e = 0; e < t->count[out]; e++)
        if (!gpu_near(type, t->memory[out], got, e, l->allowed[type]))
            fail_msg(
                "trial %d, output %d of type %s, element %lld of %lld: %.9g, on the CPU %.9g (%s)",
                number, out, mtf_dtype_name(type), (long long)e, (long long)t->count[out],
                dtype_load(type, got, e), dtype_load(type, t->memory[out], e),
                l->plan[number].nlaunches ? l->plan[number].launch[0].name : "no kernel");
}

/* Buffers of a program begin at multiples of so many bytes. */
enum { SLAB_ALIGN = 64 };

static inline void gpu_run_trial(gpu_trials *l, int number, host_gpu *c, kernel *on_cpu)
{
    trial      *t = &l->trial[number];
    CUdeviceptr memory[MAX_OPERANDS];
    void       *base[MAX_OPERANDS];
    for (int o = 0; o < t->noperands; o++) {
        size_t bytes = (size_t)t->count[o] * mtf_dtype_bytes(t->operands[o].type);
        size_t whole = (bytes / SLAB_ALIGN + 1) * SLAB_ALIGN; /* kernels may read to its end */
        assert_int_equal(c->api.driver.cuMemAlloc(&memory[o], whole), 0);
        base[o] = (void *)memory[o];
        if (bytes) host_gpu_put(c, base[o], t->memory[o], bytes);
    }
    host_gpu_run(c, &t->i, &l->plan[number], base,
                 (step_words){.seed = t->run.seed, .step = t->run.step});
    /* The CPU's kernels of these are never called without elements. */
    bool indexed = t->i.kind == INSTR_GATHER || t->i.kind == INSTR_SCATTER;
    if (!indexed || instr_elements(&t->i) > 0) run_once(t, on_cpu, l->nout, 1);
    for (int o = 0; o < t->noperands; o++) {
        size_t bytes = (size_t)t->count[o] * mtf_dtype_bytes(t->operands[o].type);
        char  *got = malloc(bytes + 1);
        if (bytes) host_gpu_get(c, got, base[o], bytes);
        if (o < l->nout)
            gpu_compare(l, number, o, got);
        else
            assert_memory_equal(got, t->memory[o], bytes);
        free(got);
        c->api.driver.cuMemFree(memory[o]);
    }
}

static host_gpu gpu;

static inline int gpu_set_up(void **state)
{
    (void)state;
    gpu = host_gpu_open();
    return 0;
}

static inline int gpu_tear_down(void **state)
{
    (void)state;
    host_gpu_close(&gpu);
    return 0;
}

/* Compiles and runs all trials, and frees them. */
static inline void gpu_trials_run(gpu_trials *l, kernel *on_cpu)
{
    host_gpu     *c = &gpu;
    kernel_source s = kernel_source_for(&c->session->arena, c->session);
    for (int k = 0; k < l->n; k++) {
        trial *t = &l->trial[k];
        t->i.out = t->operands;
        t->i.nout = l->nout;
        t->i.in = t->operands + l->nout;
        t->i.nin = t->noperands - l->nout;
        kernel_writer *write = kernel_writer_of(t->i.kind);
        assert_non_null(write);
        s.wide = k % 3 == 2; /* sizes that need 64 bits are too large for a test */
        if (!write(&s, &t->i, &l->plan[k])) fail_msg("%s", c->session->fault.text);
        if (l->plan[k].nlaunches > l->launches) l->launches = l->plan[k].nlaunches;
    }
    const char *text = kernel_source_text(&s);
    host_gpu_load(c, text);
    for (int k = 0; k < l->n; k++) gpu_run_trial(l, k, c, on_cpu);
    if (asked_much(1, 0)) host_gpu_compile_for_real(c, text); /* which takes as long again */
    for (int k = 0; k < l->n; k++) trial_free(&l->trial[k]);
}

#endif
