/* Attention as kernels of a GPU, against those of the CPU.
 *
 * Random instructions: any subset of loops in each operand, in any order of memory, every
 * option, sizes around the edges of tiles; so are loops over which gradients are summed.
 * MTF_TEST_SEED=7 takes others.
 */
#include "cuda/write/attention_text.h"
#include "cuda/write/kernel_source.h"
#include "cuda/write/kernel_text.h"
#include "cpu/kernels.h"

#include "asked.h"
#include "ground.h"

#include "machine/host_gpu.h"
#include "machine/random_numbers.h"

enum {
    MOST_OPERANDS = 24,
    LOOPS = 4,
    QUERY = 3,
    TRIALS = 44,
    FEW_ROWS = 24,
    DECODING = 12,
    BIASED = 12
};
enum { FOR_A_GPU = 10 };

typedef struct trial {
    instr          instr;
    attention_args args;
    access         out[4], in[MOST_OPERANDS];
    int            nbuffers;
    int64_t        at[MOST_OPERANDS], elements[MOST_OPERANDS], bytes;
    kernel_plan    plan;
} trial;

static host_gpu      gpu;
static kernel_source source, for_a_gpu; /* the second: a few of them, NVRTC takes its time */
static arena         kept;
static trial         trials[TRIALS + 40 + BIASED + FEW_ROWS + DECODING];
static int           ntrials;

static bool chance(int percent)
{
    return pick(0, 99) < percent;
}

/* ---- instructions ---- */

/* Lays an operand out: elements adjacent, then the memory (if `along`) and the loops of `has` in some
 * order, positions ordered.  Gives the step from one position to the next. */
static int64_t lay(trial *t, access *a, mtf_dtype type, unsigned has, bool along, int64_t wide)
{
    int     order[LOOPS + 1], n = LOOPS + 1;
    int64_t step = wide, of_memory = 0, gap = chance(20) ? 8 : 0;
    *a = (access){.buffer = t->nbuffers++, .type = type};
    for (int k = 0; k < n; k++) order[k] = k;
    for (int k = n - 1; k > 0 && chance(60); k--) {
        int o = (int)pick(0, k), was = order[k];
        order[k] = order[o];
        order[o] = was;
    }
    for (int k = n - 1; k >= 0; k--) {
        int l = order[k];
        if (l == LOOPS ? !along : !(has >> l & 1)) continue;
        if (l == LOOPS)
            of_memory = step, step *= t->args.memory;
        else
            a->stride[l] = step, step *= t->instr.size[l];
        step += gap, gap = 0;
    }
    a->offset = chance(70) ? 0 : pick(1, 3) * 8;
    t->at[a->buffer] = t->bytes;
    t->elements[a->buffer] = step + a->offset;
    t->bytes += (t->elements[a->buffer] * (int64_t)mtf_dtype_bytes(type) + 255) / 256 * 256;
    return of_memory;
}

static void add_input(trial *t, attention_operand which, mtf_dtype type, unsigned has, bool along,
                      int64_t wide)
{
    access *a = &t->in[t->instr.nin];
    t->args.step[which] = lay(t, a, type, has, along, wide);
    t->args.at[which] = t->instr.nin++;
}

static void add_output(trial *t, mtf_dtype type, unsigned has, bool along, int64_t wide)
{
    int o = t->instr.nout++;
    t->args.out_step[o] = lay(t, &t->out[o], type, has, along, wide);
}

/* Elements by distance: the first one is that of the last query and the first position. */
static void make_relative(trial *t, access *a, int64_t *step)
{
    int64_t queries = t->instr.size[QUERY], size = queries + t->args.memory - 1, below = 1;
    t->bytes -= (t->elements[a->buffer] * (int64_t)mtf_dtype_bytes(a->type) + 255) / 256 * 256;
    *step = 1, below = size;
    for (int l = 0; l < LOOPS; l++) {
        if (a->stride[l] == 0 || l == QUERY) continue;
        a->stride[l] = below;
        below *= t->instr.size[l];
    }
    a->stride[QUERY] = -1;
    a->offset = queries - 1;
    t->elements[a->buffer] = below;
    t->bytes += (below * (int64_t)mtf_dtype_bytes(a->type) + 255) / 256 * 256;
}

static unsigned some_loops(unsigned of)
{
    unsigned has = 0;
    for (int l = 0; l < LOOPS; l++)
        if (of >> l & 1 && chance(60)) has |= 1u << l;
    return has;
}

static void choose_limits(attention_args *a)
{
    a->min = chance(40) ? -pick(0, 40) : INT64_MIN / 2;
    a->max = chance(60) ? pick(0, 1) * pick(0, 20) : INT64_MAX / 2;
    a->first_query = chance(30) ? pick(0, 60) : 0;
    a->first_memory = chance(30) ? pick(0, 60) : 0;
}

static void add_dropout(trial *t)
{
    attention_args *a = &t->args;
    int64_t         below = a->memory * 3;
    a->dropout = chance(50) ? 0.25 : 0.5;
    a->stream = (uint32_t)pick(0, 1000);
    a->first = chance(50) ? 0 : pick(0, 5);
    a->memory_weight = chance(70) ? 1 : pick(0, 1) * 3;
    for (int l = LOOPS - 1; l >= 0; l--) {
        a->weight[l] = chance(80) ? below : 0;
        below *= t->instr.size[l];
    }
    for (int64_t iterations = pick(0, 3); iterations > 0; iterations--)
        lay(t, &t->in[t->instr.nin++], MTF_I32, 0, false, 1);
}

typedef struct shape {
    mtf_dtype type;
    int64_t   size[LOOPS], memory, key, value;
    bool      plain;    /* dense, without options */
    bool      packed;   /* but for segments */
    bool      decoding; /* but for the position of each query */
    int       biased;   /* but for a bias: by distance or another */
    bool      dropped;  /* but for dropout */
} shape;

enum { BY_DISTANCE = 1, BY_LOOPS };

static void add_options(trial *t, const shape *s, mtf_dtype wide, bool grad)
{
    unsigned rows = 15, memory = 7;
    bool     biased = s->biased || (!s->plain && chance(40));
    bool     relative =
        biased && t->args.query >= 0 && (s->biased ? s->biased == BY_DISTANCE : chance(40));
    if (biased) {
        unsigned  has = some_loops(relative ? memory : rows);
        mtf_dtype type = chance(50) ? wide : s->type;
        add_input(t, ATTENTION_BIAS, type, has, chance(80), 1);
        access *in = &t->in[t->instr.nin - 1];
        if (relative) make_relative(t, in, &t->args.step[ATTENTION_BIAS]);
        if (grad) {
            add_output(t, wide, has, t->args.step[ATTENTION_BIAS] != 0, 1);
            if (relative) make_relative(t, &t->out[3], &t->args.out_step[3]);
        }
        t->args.relative = relative;
    }
    if (s->decoding || (!s->plain && chance(25)))
        add_input(t, ATTENTION_READ, MTF_I32, s->decoding ? rows : some_loops(rows), false, 1);
    if (!s->plain && chance(25))
        add_input(t, ATTENTION_WRITE, MTF_I32, some_loops(memory), true, 1);
    if (s->packed || (!s->plain && chance(25))) {
        add_input(t, ATTENTION_QUERY_SEGMENT, MTF_I32, s->packed ? rows : some_loops(rows), false,
                  1);
        add_input(t, ATTENTION_MEMORY_SEGMENT, MTF_I32, some_loops(memory), true, 1);
    }
    t->args.first_iteration = t->instr.nin;
    if (s->dropped || (!s->plain && chance(30))) add_dropout(t);
}

/* A sample is one of fifteen, with and without gradients by turns; of those in matrices, it has one with a bias by
 * distance and dropout. */
static bool is_taken(int number)
{
    return number % asked_much(1, 15) == asked_much(0, 6);
}

static void add_trial(const shape *s, bool grad)
{
    trial          *t = &trials[ntrials++];
    attention_args *a = &t->args;
    mtf_dtype       wide = s->type == MTF_F64 ? MTF_F64 : MTF_F32;
    unsigned        of_k = s->plain ? 7 : some_loops(7), of_v = chance(80) ? of_k : some_loops(7);
    *t = (trial){.instr = {.kind = grad ? INSTR_ATTENTION_GRAD : INSTR_ATTENTION,
                           .nloops = LOOPS,
                           .in = t->in,
                           .out = t->out,
                           .attention = a},
                 .args = {.memory = s->memory,
                          .key = s->key,
                          .value = s->value,
                          .query = s->size[QUERY] == 1 && chance(50) ? -1 : QUERY,
                          .scale = (chance(20) ? 0.7 : 1) / sqrt((double)s->key),
                          .parts = !grad && chance(25)}};
    for (int k = 0; k < LOOPS; k++) t->instr.size[k] = s->size[k];
    for (int k = 0; k < ATTENTION_OPERANDS; k++) a->at[k] = -1;
    choose_limits(a);
    if (s->plain) a->min = INT64_MIN / 2, a->max = 0, a->first_query = a->first_memory = 0;
    add_input(t, ATTENTION_Q, s->type, 15, false, s->key);
    add_input(t, ATTENTION_K, s->type, of_k, true, s->key);
    add_input(t, ATTENTION_V, s->type, of_v, true, s->value);
    if (grad) {
        add_input(t, ATTENTION_LSE, wide, 15, false, 1);
        add_input(t, ATTENTION_DY, s->type, 15, false, s->value);
        add_input(t, ATTENTION_DELTA, wide, 15, false, 1);
        mtf_dtype narrow = chance(50) ? s->type : wide;
        add_output(t, narrow, 15, false, s->key);
        add_output(t, narrow, of_k, true, s->key);
        add_output(t, narrow, of_v, true, s->value);
    } else {
        add_output(t, a->parts ? wide : s->type, 15, false, s->value);
        add_output(t, wide, 15, false, 1);
        if (a->parts) add_output(t, wide, 15, false, 1);
    }
    add_options(t, s, wide, grad);
    if (is_taken(ntrials - 1))
        assert_true(kernel_writer_of(t->instr.kind)(&source, &t->instr, &t->plan));
}

static shape random_shape(void)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16, MTF_F16, MTF_F64};
    static const int64_t   queries[] = {1, 2, 5, 16, 17, 33, 64, 65, 130},
                         memory[] = {1, 2, 7, 16, 63, 64, 65, 100, 129, 200},
                         wide[] = {1, 3, 8, 13, 16, 32, 33, 64, 64, 65, 100, 128, 128, 130};
    shape s = {.type = types[pick(0, 3)]};
    do {
        for (int l = 0; l < QUERY; l++) s.size[l] = pick(1, 3);
        s.size[QUERY] = queries[pick(0, 8)];
        s.memory = memory[pick(0, 9)];
        s.key = wide[pick(0, 13)];
        s.value = chance(50) ? s.key : wide[pick(0, 13)];
    } while (s.size[0] * s.size[1] * s.size[2] * s.size[QUERY] * s.memory * (s.key + s.value) >
             8 << 20);
    return s;
}

/* From partial results; some rows have seen nothing. */
static void add_join(mtf_dtype type)
{
    mtf_dtype wide = type == MTF_F64 ? MTF_F64 : MTF_F32;
    trial    *t = &trials[ntrials++];
    *t = (trial){.instr = {.kind = INSTR_ATTENTION_JOIN, .nloops = 2, .in = t->in, .out = t->out}};
    t->instr.size[0] = 37, t->instr.size[1] = 19;
    add_output(t, type, 3, false, 1);
    add_output(t, wide, 1, false, 1);
    for (int k = 0; k < 3; k++) lay(t, &t->in[t->instr.nin++], wide, k ? 1 : 3, false, 1);
    assert_true(write_attention_join(&source, &t->instr, &t->plan));
}

/* ---- running ---- */

/* Weights, which are e^(score - lse), are small enough for f16 where lse is about as large as scores are. */
enum { LEAST_LSE = 6 };

static void fill(const trial *t, const access *a, char *base)
{
    const attention_args *args = &t->args;
    const int            *at = args->at;
    int                   which = (int)(a - t->in);
    static const uint64_t runs[] = {1, 1, 20, 90, 1000}; /* so long is a segment */
    uint64_t              run = runs[pick(0, 4)], start = (uint64_t)pick(0, 2) * run;
    bool                  joined = t->instr.kind == INSTR_ATTENTION_JOIN && which == 1;
    bool                  lse = t->instr.kind == INSTR_ATTENTION_GRAD && which == at[ATTENTION_LSE];
    for (int64_t k = 0; k < t->elements[a->buffer]; k++) {
        uint64_t bits = random_bits();
        bool     segment =
            which == at[ATTENTION_QUERY_SEGMENT] || which == at[ATTENTION_MEMORY_SEGMENT];
        if (a->type == MTF_I32)
            ((int32_t *)(void *)base)[k] =
                (int32_t)(segment ? (run == 1 ? bits : ((uint64_t)k + start) / run) % 3
                                  : bits % ((uint64_t)args->memory + 9));
        else
            dtype_store(a->type, base, k,
                        joined ? (double)(bits % 5)
                               : (double)(bits % 4001) / 1000 - 2 + (lse ? LEAST_LSE : 0));
    }
}

static double step_of(mtf_dtype type)
{
    return type == MTF_F64 ? 1e-12 : type == MTF_BF16 ? 0x1p-7 : type == MTF_F16 ? 0x1p-9 : 2e-5;
}

/* Within some steps of the type computed with; what was not written is the same. */
static void compare(const trial *t, int number, int o, const char *got, char *right)
{
    const access *a = &t->out[o];
    int64_t       n = t->elements[a->buffer];
    double        largest = 0, step = step_of(t->in[0].type);
    for (int64_t k = 0; k < n; k++) {
        double v = fabs(dtype_load(a->type, right, k));
        if (v > largest && v < 1e6) largest = v;
    }
    for (int64_t k = 0; k < n; k++) {
        double x = dtype_load(a->type, got, k), y = dtype_load(a->type, right, k);
        if (x == y || fabs(x - y) <= step * (largest + 1e-3)) continue;
        size_t bytes = mtf_dtype_bytes(a->type);
        if (memcmp(got + k * (int64_t)bytes, right + k * (int64_t)bytes, bytes) == 0) continue;
        fail_msg("trial %d, %s in %s, %lld x %lld x %lld x %lld rows, memory %lld, key %lld, value "
                 "%lld: output "
                 "%d, element %lld of %lld: %.9g, not %.9g",
                 number, t->plan.launch[0].name, mtf_dtype_name(t->in[0].type),
                 (long long)t->instr.size[0], (long long)t->instr.size[1],
                 (long long)t->instr.size[2], (long long)t->instr.size[3],
                 (long long)t->args.memory, (long long)t->args.key, (long long)t->args.value, o,
                 (long long)k, (long long)n, x, y);
    }
}

static kernel *kernel_of(instr_kind kind)
{
    return kind == INSTR_ATTENTION        ? kernel_attention
           : kind == INSTR_ATTENTION_GRAD ? kernel_attention_grad
                                          : kernel_attention_join;
}

static void run_kernel(const instr *i, void *const *base, int threads)
{
    size_t scratch =
        i->kind == INSTR_ATTENTION_JOIN ? 0 : attention_scratch_bytes(i, (size_t)threads);
    run_state run = {.base = (void **)base, .threads = threads, .seed = 77, .step = 5};
    run.scratch = aligned_alloc(64, scratch / 64 * 64 + 128);
    memset(run.scratch, 0xff, scratch); /* NaN */
    kernel_of(i->kind)(i, &run);
    free(run.scratch);
}

/* The CPU's short gradients are its f32 ones, rounded once; for any number of threads. */
static void check_rounding(const trial *t, int number, void *const *base, int threads)
{
    instr  i = t->instr;
    access out[4];
    void  *all[MOST_OPERANDS];
    memcpy(all, base, sizeof all);
    for (int o = 0; o < i.nout; o++) {
        int b = t->out[o].buffer;
        out[o] = t->out[o];
        out[o].type = t->in[0].type == MTF_F64 ? MTF_F64 : MTF_F32;
        all[b] = malloc((size_t)t->elements[b] * mtf_dtype_bytes(out[o].type));
        for (int64_t k = 0; k < t->elements[b]; k++)
            dtype_store(out[o].type, all[b], k, (double)NAN);
    }
    i.out = out;
    run_kernel(&i, all, threads);
    for (int o = 0; o < i.nout; o++) {
        int b = out[o].buffer;
        for (int64_t k = 0; k < t->elements[b]; k++) {
            size_t bytes = mtf_dtype_bytes(t->out[o].type);
            char   right[8], *got = (char *)base[b] + k * (int64_t)bytes;
            double v = dtype_load(out[o].type, all[b], k);
            if (v != v)
                memset(right, 0x55, sizeof right); /* never written */
            else
                dtype_store(t->out[o].type, right, 0, v);
            if (memcmp(got, right, bytes) != 0)
                fail_msg("trial %d, %d threads: output %d, element %lld is not the rounded %.9g",
                         number, threads, o, (long long)k, v);
        }
        free(all[b]);
    }
}

static void run_on_cpu(const trial *t, int number, void *const *base)
{
    static const int threads[] = {3, 1};
    for (int k = 0; k < 2; k++) {
        run_kernel(&t->instr, base, threads[k]);
        if (t->instr.kind == INSTR_ATTENTION_GRAD) check_rounding(t, number, base, threads[k]);
    }
}

static void run_trial(trial *t, int number)
{
    void        *cpu_base[MOST_OPERANDS] = {0}, *gpu_base[MOST_OPERANDS] = {0};
    const instr *i = &t->instr;
    size_t       whole = (size_t)t->bytes + 256;
    char        *cpu = aligned_alloc(256, whole), *got = aligned_alloc(256, whole);
    char        *memory = host_gpu_take(&gpu, whole);
    memset(cpu, 0x55, whole);
    for (int b = 0; b < t->nbuffers; b++)
        cpu_base[b] = cpu + t->at[b], gpu_base[b] = memory + t->at[b];
    for (int k = 0; k < i->nin; k++) fill(t, &t->in[k], cpu_base[t->in[k].buffer]);
    host_gpu_put(&gpu, memory, cpu, whole);

    run_on_cpu(t, number, cpu_base);
    host_gpu_run(&gpu, i, &t->plan, gpu_base, (step_words){.seed = 77, .step = 5});
    host_gpu_get(&gpu, got, memory, whole);
    for (int o = 0; o < i->nout; o++) {
        int64_t at = t->at[t->out[o].buffer];
        compare(t, number, o, got + at, cpu + at);
        memcpy(got + at, cpu + at,
               (size_t)t->elements[t->out[o].buffer] * mtf_dtype_bytes(t->out[o].type));
    }
    if (memcmp(got, cpu, whole) != 0) fail_msg("%s wrote something else", t->plan.launch[0].name);
    free(cpu);
    free(got);
    host_gpu_give(&gpu, memory);
}

/* ---- tests ---- */

/* Attention of few rows, in clusters of every size: 300 batches have blocks enough without. */
static void add_few_rows(void)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16, MTF_F16};
    static const int64_t   memory[] = {64, 129, 700, 128};
    for (int k = 0; k < FEW_ROWS; k++) {
        int64_t wide = 16 << k % 4;
        shape   s = {.type = types[k % 3],
                     .size = {pick(1, 2), 1, pick(1, 2), pick(1, 2)},
                     .memory = memory[k / 4 % 3],
                     .key = wide,
                     .value = wide,
                     .plain = k % 5 == 0};
        add_trial(&s, false);
    }
    for (int k = 0; k < DECODING; k++) {
        int64_t most = PACK_BYTES / (int64_t)mtf_dtype_bytes(types[k % 3]) * WARP_SIZE;
        int64_t wide = most >> (k / 3 % 2 ? pick(1, 5) : 0);
        shape   s = {.type = types[k % 3],
                     .size = {k == 0 ? 300 : 4, 1, 1, k % 4 + 1},
                     .memory = memory[k % 4],
                     .key = wide,
                     .value = wide,
                     .plain = true,
                     .decoding = true};
        add_trial(&s, false);
        assert_true(attention_suits_slim(&trials[ntrials - 1].instr));
    }
}

/* Random trials must have all that the kernel of few rows distinguishes. */
static void assert_few_rows_have_all(int begin)
{
    static const attention_operand options[] = {ATTENTION_BIAS, ATTENTION_READ, ATTENTION_WRITE,
                                                ATTENTION_QUERY_SEGMENT, ATTENTION_MEMORY_SEGMENT};
    enum { OPTIONS = sizeof options / sizeof *options };
    int found[OPTIONS] = {0}, parts = 0;
    for (int k = begin; k < ntrials; k++) {
        const instr *i = &trials[k].instr;
        if (!attention_suits_slim(i)) continue;
        parts += i->attention->parts;
        for (int o = 0; o < OPTIONS; o++) found[o] += i->attention->at[options[o]] >= 0;
    }
    for (int o = 0; o < OPTIONS; o++) assert_true(found[o] > 0);
    assert_true(parts > 0);
}

/* Gradients of biases by tiles, and dropout; with few processors a block has several batches and tiles of rows. */
static void add_biased(void)
{
    int processors = source.multiprocessors;
    for (int k = 0; k < BIASED; k++) {
        bool    few = k < BIASED / 2;
        int64_t length = k % 3 ? 128 : 150, wide = few ? 16 : 64;
        shape   s = {.type = k % 2 ? MTF_BF16 : MTF_F16,
                     .size = {few ? 3 : 1, few ? 2 : 1, 2, length},
                     .memory = k % 3 == 1 ? 70 : length,
                     .key = wide,
                     .value = wide,
                     .plain = k % 2,
                     .biased = k % 4 < 2 ? BY_DISTANCE : BY_LOOPS,
                     .dropped = k % 3 != 1};
        source.multiprocessors = few ? 1 : processors;
        add_trial(&s, k != 4);
        const instr *i = &trials[ntrials - 1].instr;
        if (s.plain) assert_true(attention_suits_matrices(i));
    }
    source.multiprocessors = processors;
}

static int set_up(void **unused)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16, MTF_F16, MTF_F64};
    (void)unused;
    gpu = host_gpu_open();
    kept = arena_make(&gpu.session->allocator, &gpu.session->fault);
    source = kernel_source_make(&kept);
    for_a_gpu = kernel_source_make(&kept);
    if (getenv("MTF_TEST_SEED")) seed_state = (uint64_t)atoi(getenv("MTF_TEST_SEED"));
    for (int k = 0; k < TRIALS; k++) {
        shape s = random_shape();
        add_trial(&s, k % 2);
    }
    for (int k = 0; k < 4; k++) {
        shape few = {types[k], {1, 2, 3, 1}, 700,   64, 64,
                     false,    false,        false, 0,  false}; /* in chunks of the memory */
        shape none = {types[k], {2, 1, 1, 3}, 0, 16, 16, false, false, false, 0, false};
        add_trial(&few, false);
        add_trial(&none, false);
        add_join(types[k]);
    }
    for (int k = 0; k < 8; k++) {
        shape s = {types[1 + k % 2],
                   {2, 1, 2, 150},
                   150,
                   k < 4 ? 64 : 128,
                   k < 4 ? 64 : 128,
                   true,
                   false,
                   false,
                   0,
                   false};
        add_trial(&s, k / 2 % 2);
    }
    for (int k = 0; k < 12; k++) {
        int64_t length = k % 3 ? 192 : 230;
        shape   s = {types[1 + k / 2 % 2],
                     {2, 1, 1, length},
                     length,
                     16 << k % 3,
                     16 << k % 3,
                     true,
                     true,
                     false,
                     0,
                     false};
        add_trial(&s, k % 2);
    }
    add_biased();
    int begin = ntrials;
    source.multiprocessors = for_a_gpu.multiprocessors = 132;
    source.cluster = for_a_gpu.cluster = atoi(gpu.architecture + strlen("sm_")) >= 90 ? 8 : 1;
    add_few_rows();
    assert_few_rows_have_all(begin);
    for (int k = begin; k < ntrials; k += FEW_ROWS / 4) {
        kernel_plan unused_plan = {0};
        assert_true(write_attention(&for_a_gpu, &trials[k].instr, &unused_plan));
    }
    if (source.cluster > 1)
        assert_non_null(strstr(kernel_source_text(&for_a_gpu), "attention_slim("));
    for (int k = 0; k < ntrials; k += ntrials / FOR_A_GPU) {
        kernel_plan unused_plan = {0};
        assert_true(
            kernel_writer_of(trials[k].instr.kind)(&for_a_gpu, &trials[k].instr, &unused_plan));
    }
    return 0;
}

static void test_attention_gives_what_the_cpu_gives(void **unused)
{
    (void)unused;
    host_gpu_load(&gpu, kernel_source_text(&source));
    for (int k = 0; k < ntrials; k++)
        if (is_taken(k)) run_trial(&trials[k], k);
}

static void test_attention_compiles_for_a_gpu(void **unused)
{
    (void)unused;
    if (asked_much(1, 0)) host_gpu_compile_for_real(&gpu, kernel_source_text(&for_a_gpu));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_gives_what_the_cpu_gives),
        cmocka_unit_test(test_attention_compiles_for_a_gpu),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
