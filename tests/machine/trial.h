/* Trials of kernels: instructions by hand, three thread counts, plain sums.
 *
 * A trial is an instruction with operands in memory of exactly their size.  It
 * runs with 1, 2 and 3 threads and must give the same bytes each time, but for OpenBLAS;
 * and always the same where one thread does the work of all.
 */
#ifndef TESTS_MACHINE_TRIAL_H
#define TESTS_MACHINE_TRIAL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Before cmocka, whose macro is called fail as our function is. */
#include "base/dtype.h"
#include "cpu/kernels.h"
#include "cpu/short_tile.h"
#include "cpu/contract_way.h"

#include <cmocka.h>

#include "machine/random_numbers.h"

/* ---- cases -------------------------------------------------------------------------------- */

enum { MAX_OPERANDS = 6 };

static inline bool chance(int one_in)
{
    return pick(1, one_in) == 1;
}

/* All types that operations compute with: f8 is only cast, moved and multiplied. */
enum { ARITHMETIC_TYPES = MTF_BOOL + 1 };
static const mtf_dtype all_types[DTYPES] = {MTF_F32,  MTF_F64, MTF_I32,    MTF_I64,   MTF_BOOL,
                                            MTF_BF16, MTF_F16, MTF_F8E4M3, MTF_F8E5M2};

/* An instruction, its operands' memory, and the results to compare. */
typedef struct trial {
    instr     i;
    access    operands[MAX_OPERANDS]; /* outputs first */
    void     *memory[MAX_OPERANDS];
    int64_t   count[MAX_OPERANDS]; /* elements */
    int       noperands;
    run_state run;
} trial;

static inline trial trial_of(instr_kind kind, int nloops, const int64_t *size)
{
    trial t = {.i = {.kind = kind, .nloops = nloops}, .run = {.seed = 11, .step = 4}};
    for (int l = 0; l < nloops; l++) t.i.size[l] = size[l];
    return t;
}

static inline void fill(mtf_dtype type, void *to, int64_t count)
{
    for (int64_t k = 0; k < count; k++) switch (type) {
        case MTF_I32: ((uint32_t *)to)[k] = (uint32_t)random_bits(); break;
        case MTF_I64: ((uint64_t *)to)[k] = random_bits(); break;
        case MTF_BOOL: ((uint8_t *)to)[k] = chance(4); break;
        default: dtype_store(type, to, k, (double)pick(-16, 16) / 8.0);
        }
}

/* Adds an operand of `count` elements: inputs are filled, outputs hold NaN. */
static inline access *add_operand(trial *t, mtf_dtype type, int64_t count, bool out)
{
    int k = t->noperands++;
    t->count[k] = count;
    t->memory[k] = malloc((size_t)count * mtf_dtype_bytes(type));
    assert_non_null(t->memory[k]);
    if (out)
        memset(t->memory[k], 0xff, (size_t)count * mtf_dtype_bytes(type));
    else
        fill(type, t->memory[k], count);
    t->operands[k] = (access){.buffer = k, .type = type};
    return &t->operands[k];
}

/* Lays dimensions out in memory, order[0] outermost, with gaps between rows of the innermost.
 * Returns how many elements that takes. */
static inline int64_t lay_out(int n, const int *order, const int64_t *size, int64_t gap,
                              int64_t *stride)
{
    int64_t step = 1;
    for (int k = n - 1; k >= 0; k--) {
        stride[order[k]] = step;
        step *= size[order[k]];
        if (k == n - 1) step += gap;
    }
    return step;
}

static inline void shuffle(int n, int *order)
{
    for (int k = 0; k < n; k++) order[k] = k;
    for (int k = n - 1; k > 0; k--) {
        int o = (int)pick(0, k), kept = order[k];
        order[k] = order[o];
        order[o] = kept;
    }
}

static inline void run_once(trial *t, kernel *k, int nout, int threads)
{
    void *base[MAX_OPERANDS];
    for (int o = 0; o < t->noperands; o++) base[o] = t->memory[o];
    t->i.out = t->operands;
    t->i.nout = nout;
    t->i.in = t->operands + nout;
    t->i.nin = t->noperands - nout;
    t->run.base = base;
    t->run.threads = threads;
    t->run.chosen = short_tile_here();
    program p = {.instrs = &t->i, .ninstrs = 1};
    size_t  scratch = kernels_scratch_bytes(&p, threads);
    if (scratch) t->run.scratch = malloc(scratch);
    k(&t->i, &t->run);
    free(t->run.scratch);
    t->run.scratch = NULL;
    t->run.base = NULL;
}

/* Does OpenBLAS compute it?  It may round a product otherwise where it gets it in other pieces. */
static inline bool is_for_openblas(const trial *t)
{
    mtf_dtype type = t->operands[1].type;
    if (t->i.kind != INSTR_CONTRACT) return false;
    if (contract_way_of(&t->i) == CONTRACT_SHORT) return !short_tile_here() && !MTF_OWN_PRODUCTS;
    return (type == MTF_F32 || type == MTF_F64) && contract_way_of(&t->i) != CONTRACT_SLIM &&
           contract_way_of(&t->i) != CONTRACT_TILED;
}

/* Equal bit for bit, or up to rounding. */
static inline void assert_within(mtf_dtype type, int64_t n, const void *a, const void *b,
                                 double allowed)
{
    size_t bytes = mtf_dtype_bytes(type);
    for (int64_t i = 0; i < n; i++) {
        double x = dtype_load(type, a, i), y = dtype_load(type, b, i), d = x - y;
        bool   same = memcmp((const char *)a + i * (int64_t)bytes,
                             (const char *)b + i * (int64_t)bytes, bytes) == 0;
        assert_true(same || (d < 0 ? -d : d) <= allowed * (1 + (x < 0 ? -x : x)));
    }
}

static inline void assert_near(mtf_dtype type, int64_t n, const void *a, const void *b)
{
    assert_within(type, n, a, b, type == MTF_F32 ? 1e-4 : 1e-12);
}

/* Of bf16 there are longer sums, of larger terms. */
static inline double rounding_of(const trial *t)
{
    mtf_dtype type = t->operands[1].type;
    return type == MTF_BF16 ? 1e-2 : type == MTF_F32 ? 1e-4 : 1e-12;
}

static inline size_t result_bytes(const trial *t, int o)
{
    return (size_t)t->count[o] * mtf_dtype_bytes(t->operands[o].type);
}

/* One thread does the work of all. */
static inline void assert_same_alone(trial *t, kernel *k, int nout, int threads,
                                     void *const *before)
{
    void *given[2];
    for (int o = 0; o < nout; o++) {
        given[o] = memcpy(malloc(result_bytes(t, o)), t->memory[o], result_bytes(t, o));
        memcpy(t->memory[o], before[o], result_bytes(t, o));
    }
    t->run.alone = true;
    run_once(t, k, nout, threads);
    t->run.alone = false;
    for (int o = 0; o < nout; o++) {
        assert_memory_equal(t->memory[o], given[o], result_bytes(t, o));
        free(given[o]);
    }
}

/* Runs with 1, 2, 3 threads from the same outputs, which must come out the same. */
static inline void run_trial(trial *t, kernel *k, int nout)
{
    void            *before[2] = {0}, *first[2] = {0};
    static const int teams[] = {1, 2, 3, 8};
    for (size_t team = 0; team < sizeof teams / sizeof *teams; team++) {
        int threads = teams[team];
        for (int o = 0; o < nout; o++) {
            size_t bytes = result_bytes(t, o);
            if (!before[o]) memcpy(before[o] = malloc(bytes), t->memory[o], bytes);
            memcpy(t->memory[o], before[o], bytes);
        }
        run_once(t, k, nout, threads);
        if (threads > 1) assert_same_alone(t, k, nout, threads, before);
        for (int o = 0; o < nout; o++) {
            size_t bytes = result_bytes(t, o);
            if (!first[o]) memcpy(first[o] = malloc(bytes), t->memory[o], bytes);
            if (is_for_openblas(t))
                assert_within(t->operands[o].type, t->count[o], t->memory[o], first[o],
                              rounding_of(t));
            else
                assert_memory_equal(t->memory[o], first[o], bytes);
        }
    }
    for (int o = 0; o < nout; o++) {
        free(before[o]);
        free(first[o]);
    }
}

static inline void trial_free(trial *t)
{
    for (int o = 0; o < t->noperands; o++) free(t->memory[o]);
}

/* Lets a product add into its result, which gets values first; returns a copy of them. */
static inline void *add_into_result(trial *t)
{
    mtf_dtype type = t->operands[0].type;
    size_t    bytes = (size_t)t->count[0] * mtf_dtype_bytes(type);
    int       k = t->noperands++;
    fill(type, t->memory[0], t->count[0]);
    t->operands[k] = t->operands[0];
    t->memory[k] = NULL;
    t->i.contract.add = k - 1;
    return memcpy(malloc(bytes), t->memory[0], bytes);
}

/* Iterations of all loops together. */
static inline int64_t iterations_of(const trial *t)
{
    int64_t iterations = 1;
    for (int l = 0; l < t->i.nloops; l++) iterations *= t->i.size[l];
    return iterations;
}

/* Offsets of a position of all loops but the last `fewer`. */
static inline int64_t offset_at(const trial *t, const access *a, int fewer, int64_t position)
{
    int64_t at = a->offset;
    for (int l = t->i.nloops - fewer - 1; l >= 0; l--) {
        at += position % t->i.size[l] * a->stride[l];
        position /= t->i.size[l];
    }
    return at;
}

/* ---- numbers ------------------------------------------------------------------------------ */

/* A sum of products: as a float with its magnitude, and as a whole number. */
typedef struct total {
    double   sum, magnitude;
    uint64_t whole;
} total;

static inline uint64_t whole_at(mtf_dtype type, const void *from, int64_t at)
{
    return type == MTF_I64   ? ((const uint64_t *)from)[at]
           : type == MTF_I32 ? ((const uint32_t *)from)[at]
                             : ((const uint8_t *)from)[at];
}

static inline bool is_float(mtf_dtype type)
{
    return type == MTF_F32 || type == MTF_F64 || type == MTF_BF16 || type == MTF_F16;
}

static inline void add_mixed_product(total *s, mtf_dtype type, const void *x, int64_t at,
                                     mtf_dtype y_type, const void *y, int64_t y_at)
{
    if (dtype_is_float(type)) {
        double product = dtype_load(type, x, at) * dtype_load(y_type, y, y_at);
        s->sum += product;
        s->magnitude += fabs(product);
    } else {
        uint64_t product = whole_at(type, x, at) * whole_at(type, y, y_at);
        s->whole = type == MTF_BOOL ? (s->whole | product) : s->whole + product;
    }
}

static inline void add_product(total *s, mtf_dtype type, const void *x, int64_t at, const void *y,
                               int64_t y_at)
{
    add_mixed_product(s, type, x, at, type, y, y_at);
}

static inline void assert_total(mtf_dtype type, const void *got, int64_t at, const total *want)
{
    if (type == MTF_I32) {
        assert_int_equal(((const uint32_t *)got)[at], (uint32_t)want->whole);
    } else if (!is_float(type)) {
        assert_int_equal(whole_at(type, got, at), want->whole);
    } else {
        double rounding = type == MTF_F64 ? 1e-14 : 1e-6;
        double store = type == MTF_BF16 ? 0x1p-8 : type == MTF_F16 ? 0x1p-11 : 0;
        double error = fabs(dtype_load(type, got, at) - want->sum);
        if (!(error <= rounding * want->magnitude + store * fabs(want->sum)))
            fail_msg("%s: %g, not %g", mtf_dtype_name(type), dtype_load(type, got, at), want->sum);
    }
}

#endif
