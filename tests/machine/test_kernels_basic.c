/* The kernels map, move, add_into, fold, scan against plain loops.
 *
 * Instructions are built by hand with random loops and strides (permuted, with
 * gaps, repeated, reversed); each is run with one, two and three threads, which
 * must agree in every bit, and compared with a nested loop over single numbers.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "cpu/kernels.h"
#include "cpu/map_steps.h"
#include "program/scalar.h"

#include "asked.h"

#include <cmocka.h> /* last: it defines a macro `fail` */

/* ---- random instructions ---- */

static uint64_t random_state;

static uint32_t any(uint32_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % below);
}

enum { OPERANDS = 6, BUFFERS = 8 };

typedef struct bench {
    instr     i;
    access    out[OPERANDS], in[OPERANDS];
    run_state r;
    void     *base[BUFFERS], *start[BUFFERS]; /* start: contents before the run */
    int64_t   elements[BUFFERS];
    mtf_dtype type[BUFFERS];
    bool      in_lines; /* most operands lie as the loops go, but for gaps between lines */
} bench;

static void bench_open(bench *b, instr_kind kind)
{
    memset(b, 0, sizeof *b);
    b->i.kind = kind;
    b->i.out = b->out;
    b->i.in = b->in;
    b->r.base = b->base;
}

static void bench_close(bench *b)
{
    for (int k = 0; k < BUFFERS; k++) {
        free(b->base[k]);
        free(b->start[k]);
    }
    free(b->r.scratch);
}

/* Loops of random sizes, 1 and primes among them; `most` bounds the number of elements. */
static void random_loops(bench *b, int64_t most)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 13, 16, 31, 64, 97, 257, 1030, 2049};
    int64_t              elements = 1;
    b->i.nloops = (int)any(6);
    for (int k = 0; k < b->i.nloops; k++) {
        int64_t size = sizes[any(sizeof sizes / sizeof *sizes)];
        while (elements * size > most) size = size > 4 ? size / 4 : 1;
        b->i.size[k] = size;
        elements *= size;
    }
}

/* So many lines that tiles are as long as can be. */
static void random_lines(bench *b)
{
    static const int64_t lengths[] = {95, 96, 97, 128, 200, 257, 1030};
    b->i.nloops = 2 + (int)any(2);
    b->i.size[0] = 1 + any(3);
    b->i.size[b->i.nloops - 1] = lengths[any(sizeof lengths / sizeof *lengths)];
    b->i.size[b->i.nloops - 2] = 1 + any(400);
    b->in_lines = true;
}

/* Strides of a permuted array with gaps, some reversed; loops in `zero` repeat.  `extra` is room
 * for one more dimension of that size, whose stride is returned. */
static int64_t random_access(bench *b, access *a, mtf_dtype type, uint32_t zero, int64_t extra)
{
    int     n = b->i.nloops, order[MAX_LOOPS + 1], free_one = 0;
    int64_t reach = 0, step = 1, extra_stride = 0, low = 0;
    bool    in_lines = b->in_lines && any(8), straight = in_lines || any(2);
    while (b->elements[free_one] > 0) free_one++;
    for (int k = 0; k <= n; k++) order[k] = k; /* n stands for the extra dimension */
    for (int k = n; k > 0 && !in_lines && any(3); k--) {
        int other = (int)any((uint32_t)k + 1), was = order[k];
        order[k] = order[other];
        order[other] = was;
    }
    for (int at = n; at >= 0; at--) {
        int     k = order[at];
        int64_t size = k == n ? extra : b->i.size[k], stride = step;
        if (k < n && (zero >> k & 1)) {
            a->stride[k] = 0;
            continue;
        }
        if (!straight && any(4) == 0) stride += any(3);
        step = stride * size + (in_lines && k == n - 1 && any(4) == 0 ? 3 : 0);
        reach += (size - 1) * stride;
        if (!straight && any(4) == 0) {
            low -= (size - 1) * stride;
            stride = -stride;
        }
        if (k == n)
            extra_stride = stride;
        else
            a->stride[k] = stride;
    }
    a->buffer = free_one;
    a->type = type;
    a->offset = -low + any(3);
    b->type[free_one] = type;
    b->elements[free_one] = a->offset + low + reach + 1;
    return extra_stride;
}

static double random_number(mtf_dtype type)
{
    switch (type) {
    case MTF_BOOL: return any(2);
    case MTF_I32:
    case MTF_I64: return (double)any(41) - 20;
    default: return any(8) == 0 ? (double)any(5) - 2 : ((double)any(100001) - 50000) / 12500;
    }
}

static void fill(bench *b)
{
    for (int k = 0; k < BUFFERS && b->elements[k] > 0; k++) {
        size_t bytes = (size_t)b->elements[k] * mtf_dtype_bytes(b->type[k]);
        b->base[k] = malloc(bytes);
        b->start[k] = malloc(bytes);
        for (int64_t e = 0; e < b->elements[k]; e++)
            dtype_store(b->type[k], b->start[k], e, random_number(b->type[k]));
    }
}

/* Runs with 1, 2, 3 threads from the same start; all buffers must come out the same. */
static void run(bench *b, kernel *f)
{
    void *first[BUFFERS] = {0};
    for (int threads = 1; threads <= 3; threads++) {
        program p = {.instrs = &b->i, .ninstrs = 1};
        b->r.threads = threads;
        free(b->r.scratch);
        b->r.scratch = malloc(kernels_scratch_bytes(&p, threads) + 1);
        for (int k = 0; k < BUFFERS && b->elements[k] > 0; k++)
            memcpy(b->base[k], b->start[k], (size_t)b->elements[k] * mtf_dtype_bytes(b->type[k]));
        f(&b->i, &b->r);
        for (int k = 0; k < BUFFERS && b->elements[k] > 0; k++) {
            size_t bytes = (size_t)b->elements[k] * mtf_dtype_bytes(b->type[k]);
            if (threads == 1) {
                first[k] = malloc(bytes);
                memcpy(first[k], b->base[k], bytes);
            } else {
                assert_memory_equal(first[k], b->base[k], bytes);
            }
        }
    }
    for (int k = 0; k < BUFFERS; k++) free(first[k]);
}

/* ---- comparing ---- */

static bool next_index(const bench *b, int64_t *index)
{
    for (int k = b->i.nloops - 1; k >= 0; k--) {
        if (++index[k] < b->i.size[k]) return true;
        index[k] = 0;
    }
    return false;
}

static int64_t place(const bench *b, const access *a, const int64_t *index)
{
    int64_t at = a->offset;
    for (int k = 0; k < b->i.nloops; k++) at += index[k] * a->stride[k];
    return at;
}

static void check_near(double got, double want, double tolerance)
{
    if (isnan(want) ? isnan(got) : got == want || fabs(got - want) <= tolerance) return;
    fail_msg("got %.17g, wanted %.17g within %g", got, want, tolerance);
}

static double rounding(mtf_dtype type)
{
    switch (type) {
    case MTF_F32: return 0x1p-23;
    case MTF_BF16: return 0x1p-8;
    case MTF_F16: return 0x1p-10;
    case MTF_F8E4M3: return 0x1p-3;
    case MTF_F8E5M2: return 0x1p-2;
    case MTF_F64: return 0x1p-52;
    default: return 0;
    }
}

/* What the type keeps of a number. */
static double kept(mtf_dtype type, double v)
{
    int64_t room;
    dtype_store(type, &room, 0, v);
    return dtype_load(type, &room, 0);
}

static const mtf_dtype compute_types[] = {MTF_F32, MTF_F64, MTF_I32, MTF_I64, MTF_BOOL};

/* ---- map ---- */

/* As doubles, which hold all numbers here. */
static double eval(scalar_fn fn, mtf_dtype type, double x, double y)
{
    scalar v = scalar_eval(fn, type, dtype_scalar(type, x), dtype_scalar(type, y));
    return dtype_real(scalar_infos[fn].gives_bool ? MTF_BOOL : type, v);
}

/* Every function in every type it is legal in, on ordinary and on special numbers. */
static void test_every_function(void **state)
{
    (void)state;
    static const double special[] = {
        0,     -0.0, 1,   -1,    2, -2, 0.5,      -0.5,      2.5, -2.5,       1e30,
        -1e30, 88,   -88, 1e-20, 3, -3, INFINITY, -INFINITY, NAN, 2147483647, -2147483648.0};
    enum { SPECIALS = sizeof special / sizeof *special, N = SPECIALS * SPECIALS };
    int cases = 0;
    for (int fn = FN_SELECT + 1; fn < SCALAR_FNS; fn++)
        for (int t = 0; t < 5; t++) {
            mtf_dtype type = compute_types[t];
            if (!map_step_of((scalar_fn)fn, type)) continue;
            bench       b;
            scalar_step step = {.fn = (scalar_fn)fn, .type = type, .a = 0, .b = 1};
            int         result = 2;
            bench_open(&b, INSTR_MAP);
            b.i.nloops = 1;
            b.i.size[0] = N;
            b.i.nin = 2;
            b.i.nout = 1;
            b.i.map = (map_args){.nsteps = 1, .steps = &step, .results = &result};
            for (int k = 0; k < 3; k++) {
                access *a = k < 2 ? &b.in[k] : &b.out[0];
                a->buffer = k;
                a->type = b.type[k] = k == 2 && scalar_infos[fn].gives_bool ? MTF_BOOL : type;
                a->stride[0] = 1;
                b.elements[k] = N;
            }
            fill(&b);
            for (int e = 0; e < N; e++) {
                dtype_store(type, b.start[0], e, special[e % SPECIALS]);
                dtype_store(type, b.start[1], e, special[e / SPECIALS]);
            }
            run(&b, kernel_map);
            for (int e = 0; e < N; e++) {
                double x = dtype_load(type, b.base[0], e), y = dtype_load(type, b.base[1], e);
                double want = kept(b.type[2], eval((scalar_fn)fn, type, x, y));
                check_near(dtype_load(b.type[2], b.base[2], e), want, 0);
            }
            bench_close(&b);
            cases++;
        }
    assert_true(cases > 120);
}

static void test_integers_wrap(void **state)
{
    (void)state;
    const double low = -2147483648.0;
    assert_true(eval(FN_add, MTF_I32, 2147483647, 1) == low);
    assert_true(eval(FN_negative, MTF_I32, low, 0) == low);
    assert_true(eval(FN_abs, MTF_I32, low, 0) == low);
    assert_true(eval(FN_floordiv, MTF_I32, low, -1) == low);
    assert_true(eval(FN_mod, MTF_I32, low, -1) == 0);
    assert_true(eval(FN_floordiv, MTF_I64, -0x1p63, -1) == -0x1p63);
    assert_true(eval(FN_floordiv, MTF_I64, -7, 2) == -4);
    assert_true(eval(FN_floordiv, MTF_I64, 7, -2) == -4);
    assert_true(eval(FN_mod, MTF_I64, -7, 2) == 1);
    assert_true(eval(FN_mod, MTF_I64, 7, -2) == -1);
    assert_true(eval(FN_floordiv, MTF_I64, 7, 0) == 0);
    assert_true(eval(FN_mod, MTF_I64, 7, 0) == 0);
    assert_true(eval(FN_floordiv, MTF_F32, -7, 2) == -4);
    assert_true(eval(FN_mod, MTF_F32, -7, 2) == 1);
    assert_true(eval(FN_add, MTF_F32, 1, 0x1p-30) == 1); /* computed in float */
    assert_true(eval(FN_maximum, MTF_I64, 3, 5) == 5);
    for (int fn = 0; fn < SCALAR_FNS; fn++) assert_non_null(scalar_infos[fn].name);
}

/* exp and tanh in float are our own: against the library's in double. */
static void test_float_exp_and_tanh(void **state)
{
    (void)state;
    assert_true(eval(FN_exp, MTF_F32, -INFINITY, 0) == 0);
    assert_true(eval(FN_exp, MTF_F32, INFINITY, 0) == INFINITY);
    assert_true(eval(FN_exp, MTF_F32, 0, 0) == 1);
    assert_true(isnan(eval(FN_exp, MTF_F32, NAN, 0)));
    assert_true(isnan(eval(FN_tanh, MTF_F32, NAN, 0)));
    assert_true(eval(FN_tanh, MTF_F32, -INFINITY, 0) == -1);
    double step = asked_much(1, 8) * 0.000371;
    for (double at = -112; at < 88.7; at += step) {
        double x = (float)at, want = exp(x), line = tanh(x / 16);
        check_near(eval(FN_exp, MTF_F32, x, 0), want, 2 * 0x1p-23 * want + 0x1p-149);
        check_near(eval(FN_tanh, MTF_F32, x / 16, 0), line, 2 * 0x1p-23 * fabs(line));
    }
}

static scalar_step random_step(int s, int nin, const mtf_dtype *type, int nloops)
{
    for (;;) {
        scalar_step step = {.fn = (scalar_fn)any(SCALAR_FNS)};
        double      value = (double)any(7) - 3;
        step.a = (int)any((uint32_t)(nin + s));
        step.b = (int)any((uint32_t)(nin + s));
        step.c = (int)any((uint32_t)(nin + s));
        step.type = type[step.a];
        switch (step.fn) {
        case FN_IMMEDIATE:
            step.type = compute_types[any(5)];
            step.value = dtype_scalar(step.type, value);
            return step;
        case FN_INDEX:
            step.type = compute_types[any(4)];
            step.value = dtype_scalar(step.type, value);
            step.a = (int)any(nloops ? (uint32_t)nloops : 1);
            if (nloops > 0) return step;
            break;
        case FN_CAST:
            step.from = step.type;
            step.type = (mtf_dtype)any(DTYPES);
            return step;
        case FN_SELECT:
            step.type = type[step.b];
            if (type[step.a] == MTF_BOOL && type[step.b] == type[step.c]) return step;
            break;
        case FN_pow: break; /* grows too fast for a chain */
        case FN_random_bits:
            break; /* gives numbers that the doubles of this reference do not hold */
        default:
            if (map_step_of(step.fn, step.type) &&
                (scalar_infos[step.fn].arity == 1 || type[step.b] == step.type))
                return step;
        }
    }
}

static double step_value(const scalar_step *s, const double *reg, const int64_t *index)
{
    switch (s->fn) {
    case FN_IMMEDIATE: return dtype_real(s->type, s->value);
    case FN_INDEX: return kept(s->type, (double)index[s->a] + dtype_real(s->type, s->value));
    case FN_CAST: return kept(s->type, reg[s->a]);
    case FN_SELECT: return reg[s->a] != 0 ? reg[s->b] : reg[s->c];
    default: return eval(s->fn, s->type, reg[s->a], reg[s->b]);
    }
}

static mtf_dtype step_type(const scalar_step *s)
{
    return s->fn > FN_SELECT && scalar_infos[s->fn].gives_bool ? MTF_BOOL : dtype_compute(s->type);
}

static mtf_dtype storage_for(mtf_dtype compute)
{
    static const mtf_dtype floats[] = {MTF_F32, MTF_BF16, MTF_F16};
    return compute == MTF_F32 ? floats[any(3)] : compute;
}

static void check_map(const bench *b)
{
    int64_t index[MAX_LOOPS] = {0};
    double  reg[32];
    do {
        for (int k = 0; k < b->i.nin; k++)
            reg[k] =
                dtype_load(b->in[k].type, b->start[b->in[k].buffer], place(b, &b->in[k], index));
        for (int s = 0; s < b->i.map.nsteps; s++)
            reg[b->i.nin + s] = step_value(&b->i.map.steps[s], reg, index);
        for (int o = 0; o < b->i.nout; o++) {
            const access *a = &b->out[o];
            double        want = kept(a->type, reg[b->i.map.results[o]]);
            check_near(dtype_load(a->type, b->base[a->buffer], place(b, a, index)), want, 0);
        }
    } while (next_index(b, index));
}

typedef enum loops_of { ANY_LOOPS, ANY_ROWS, MANY_LINES } loops_of;

/* Random expressions over random operands; some outputs replace an input in place.  With rows, what
 * is one number a row is computed once a row. */
static void run_random_maps(int trials, loops_of what)
{
    for (int trial = 0; trial < asked_much(trials, trials / 10); trial++) {
        bench       b;
        scalar_step steps[8];
        mtf_dtype   type[16];
        int         results[3];
        bench_open(&b, INSTR_MAP);
        if (what == MANY_LINES)
            random_lines(&b);
        else
            random_loops(&b, trial % 10 == 0 ? 100000 : 5000);
        b.i.nin = 1 + (int)any(3);
        b.i.nout = 1 + (int)any(what == MANY_LINES ? 2 : 3);
        b.i.map = (map_args){.nsteps = (int)any(8), .steps = steps, .results = results};
        if (what == MANY_LINES) b.i.map.nrow = 1;
        if (what == ANY_ROWS && b.i.nloops) b.i.map.nrow = 1 + (int)any((uint32_t)b.i.nloops);
        for (int k = 0; k < b.i.nin; k++) {
            mtf_dtype stored = what == MANY_LINES && any(4) ? MTF_F32 : (mtf_dtype)any(DTYPES);
            random_access(&b, &b.in[k], stored, any(2) ? any(32) : 0, 1);
            type[k] = dtype_compute(stored);
        }
        for (int s = 0; s < b.i.map.nsteps; s++) {
            steps[s] = random_step(s, b.i.nin, type, b.i.nloops);
            type[b.i.nin + s] = step_type(&steps[s]);
        }
        for (int o = 0; o < b.i.nout; o++) {
            mtf_dtype stored;
            bool      repeats = false;
            results[o] = (int)any((uint32_t)(b.i.nin + b.i.map.nsteps));
            stored = storage_for(type[results[o]]);
            for (int k = 0; k < b.i.nloops && o < b.i.nin; k++)
                repeats |= b.in[o].stride[k] == 0 && b.i.size[k] > 1;
            if (any(2) && o < b.i.nin && !repeats &&
                mtf_dtype_bytes(b.in[o].type) == mtf_dtype_bytes(stored)) {
                b.out[o] = b.in[o];
                b.out[o].type = stored;
            } else {
                random_access(&b, &b.out[o], stored, 0, 1);
            }
        }
        fill(&b);
        run(&b, kernel_map);
        check_map(&b);
        bench_close(&b);
    }
}

static void test_random_maps(void **state)
{
    (void)state;
    random_state = 1;
    run_random_maps(1500, ANY_LOOPS);
}

static void test_random_maps_by_rows(void **state)
{
    (void)state;
    random_state = 21;
    run_random_maps(2000, ANY_ROWS);
    random_state = 22;
    run_random_maps(400, MANY_LINES);
}

/* max(x, r) by a select, for which r, one number a row, is spread: over a tile, and no further. */
static void test_select_of_one_number_a_row(void **state)
{
    (void)state;
    enum { ROWS = 700, ROW = 128 };
    bench       b;
    scalar_step steps[] = {{.fn = FN_greater, .type = MTF_F32, .a = 0, .b = 1},
                           {.fn = FN_SELECT, .type = MTF_F32, .a = 2, .b = 0, .c = 1}};
    int         result = 3;
    bench_open(&b, INSTR_MAP);
    b.i.nloops = 2;
    b.i.size[0] = ROWS, b.i.size[1] = ROW;
    b.i.nin = 2;
    b.i.nout = 1;
    b.i.map = (map_args){.nsteps = 2, .steps = steps, .results = &result, .nrow = 1};
    for (int k = 0; k < 3; k++) {
        access *a = k < 2 ? &b.in[k] : &b.out[0];
        *a = (access){.buffer = k, .type = MTF_F32, .stride = {k == 1 ? 1 : ROW, k != 1}};
        b.type[k] = MTF_F32;
        b.elements[k] = k == 1 ? ROWS : ROWS * ROW;
    }
    fill(&b);
    run(&b, kernel_map);
    check_map(&b);
    bench_close(&b);
}

/* ---- move and add_into ---- */

static void test_random_moves(void **state)
{
    (void)state;
    random_state = 2;
    for (int trial = 0; trial < asked_much(1000, 200); trial++) {
        bench     b;
        mtf_dtype type = (mtf_dtype)any(DTYPES);
        int64_t   index[MAX_LOOPS] = {0};
        bench_open(&b, INSTR_MOVE);
        random_loops(&b, trial % 10 == 0 ? 200000 : 5000);
        b.i.nin = b.i.nout = 1;
        random_access(&b, &b.in[0], type, any(2) ? any(32) : 0, 1);
        random_access(&b, &b.out[0], type, 0, 1);
        fill(&b);
        run(&b, kernel_move);
        do {
            double  want = dtype_load(type, b.start[b.in[0].buffer], place(&b, &b.in[0], index));
            int64_t at = place(&b, &b.out[0], index);
            check_near(dtype_load(type, b.base[b.out[0].buffer], at), want, 0);
        } while (next_index(&b, index));
        bench_close(&b);
    }
}

/* Loops meet in elements by stride 0 and, now and then, by strides that overlap. */
static void test_random_sums_into_place(void **state)
{
    (void)state;
    random_state = 3;
    for (int trial = 0; trial < asked_much(1000, 200); trial++) {
        bench     b;
        mtf_dtype type = (mtf_dtype)any(MTF_BOOL + 1);
        int64_t   index[MAX_LOOPS] = {0};
        bench_open(&b, INSTR_ADD_INTO);
        random_loops(&b, trial % 10 == 0 ? 100000 : 3000);
        b.i.nin = b.i.nout = 1;
        random_access(&b, &b.in[0], type, any(2) ? any(32) : 0, 1);
        random_access(&b, &b.out[0], type, any(2) ? any(32) : 0, 1);
        if (any(4) == 0)
            for (int k = 1; k < b.i.nloops; k++)
                if (b.i.size[k] <= b.i.size[k - 1]) b.out[0].stride[k] = b.out[0].stride[k - 1];
        b.out[0].offset = 0;
        b.elements[b.out[0].buffer] = 1;
        for (int k = 0; k < b.i.nloops; k++) { /* the strides changed: measure again */
            int64_t reach = (b.i.size[k] - 1) * b.out[0].stride[k];
            if (reach < 0) b.out[0].offset -= reach;
            b.elements[b.out[0].buffer] += reach < 0 ? -reach : reach;
        }
        fill(&b);
        run(&b, kernel_add_into);

        int64_t n = b.elements[b.out[0].buffer];
        double *sum = malloc((size_t)n * sizeof *sum), *size = calloc((size_t)n, sizeof *size);
        for (int64_t e = 0; e < n; e++) sum[e] = dtype_load(type, b.start[b.out[0].buffer], e);
        do {
            int64_t at = place(&b, &b.out[0], index);
            double  x = dtype_load(type, b.start[b.in[0].buffer], place(&b, &b.in[0], index));
            sum[at] = type == MTF_BOOL ? sum[at] != 0 || x != 0 : sum[at] + x;
            size[at] += fabs(x) + fabs(sum[at]);
        } while (next_index(&b, index));
        for (int64_t e = 0; e < n; e++)
            check_near(dtype_load(type, b.base[b.out[0].buffer], e), sum[e],
                       rounding(type) * size[e] * (type == MTF_BF16 ? 64 : 1));
        free(sum);
        free(size);
        bench_close(&b);
    }
}

/* ---- fold ---- */

typedef struct fold_value {
    long double number; /* the kernel's f64 cascade is more exact than a plain loop in double */
    double      size;   /* of what was added, for the tolerance */
    uint64_t    whole;
    int64_t     where, seen;
} fold_value;

static void fold_in(fold_value *v, fold_kind kind, mtf_dtype type, double x)
{
    bool first = v->seen == 0, up = kind == FOLD_MAX || kind == FOLD_ARGMAX;
    bool beats = first || (!isnan(v->number) && (isnan(x) || (up ? x > v->number : x < v->number)));
    uint64_t whole = (uint64_t)(int64_t)(isnan(x) ? 0 : x);
    if (kind == FOLD_SUM) {
        v->number = first ? x : v->number + x;
        v->whole = first ? whole : v->whole + whole;
    } else if (kind == FOLD_PROD) {
        v->number = first ? x : v->number * x;
        v->whole = first ? whole : v->whole * whole;
    } else if (beats) {
        v->number = x;
        v->whole = whole;
        v->where = v->seen;
    }
    if (type == MTF_BOOL && kind == FOLD_SUM) v->whole = v->whole != 0;
    v->size += fabs(x);
    v->seen++;
}

static double fold_result(const fold_value *v, fold_kind kind, mtf_dtype type)
{
    if (kind == FOLD_ARGMAX || kind == FOLD_ARGMIN) return (double)v->where;
    if (type == MTF_I32) return (int32_t)(uint32_t)v->whole;
    if (type == MTF_I64 || type == MTF_BOOL) return (double)(int64_t)v->whole;
    return (double)v->number;
}

static void check_fold(const bench *b, const fold_value *values)
{
    const access *a = &b->out[0];
    fold_kind     kind = b->i.fold.kind;
    int64_t       index[MAX_LOOPS] = {0}, k = 0;
    do {
        double want = fold_result(&values[k], kind, b->in[0].type), near = 0;
        if (kind == FOLD_SUM) /* in f32, a cascade: far below one rounding per element */
            near = 16 * rounding(dtype_compute(a->type)) * values[k].size;
        if (kind == FOLD_PROD)
            near = 2 * (double)values[k].seen * rounding(dtype_compute(a->type)) * fabs(want);
        if (kind == FOLD_SUM || kind == FOLD_PROD) near += rounding(a->type) * fabs(want);
        if (a->type == MTF_F16) near += 0x1p-24;
        if (rounding(b->in[0].type) == 0) near = 0;
        if (!isfinite(want) || fabs(want) > 1e4) want = kept(a->type, want);
        if (kind == FOLD_PROD && fabs(want) > 1e4) near = INFINITY; /* may overflow */
        check_near(dtype_load(a->type, b->base[a->buffer], place(b, a, index)), want, near);
        k++;
        int at = b->i.fold.nkept - 1; /* on to the next kept element */
        while (at >= 0 && ++index[at] == b->i.size[at]) index[at--] = 0;
        if (at < 0) return;
    } while (true);
}

static void fold_once(int trial)
{
    bench     b;
    mtf_dtype type = (mtf_dtype)any(MTF_BOOL + 1);
    fold_kind kind = (fold_kind)any(6);
    bool      seeks = kind == FOLD_ARGMAX || kind == FOLD_ARGMIN;
    int64_t   index[MAX_LOOPS] = {0}, nkept = 1, nreduced = 1, at = 0;
    bench_open(&b, INSTR_FOLD);
    random_loops(&b, trial % 5 == 0 ? 200000 : 5000);
    b.i.nin = b.i.nout = 1;
    b.i.fold = (fold_args){kind, (int)any((uint32_t)b.i.nloops + 1)};
    for (int k = 0; k < b.i.nloops; k++) *(k < b.i.fold.nkept ? &nkept : &nreduced) *= b.i.size[k];
    random_access(&b, &b.in[0], type, any(4) == 0 && kind != FOLD_PROD ? any(32) : 0, 1);
    random_access(&b, &b.out[0], seeks ? MTF_I32 : type, 0xffffffffu << b.i.fold.nkept, 1);
    fill(&b);
    if (dtype_is_float(type) && any(4) == 0)
        for (int k = 0; k < 4; k++)
            dtype_store(type, b.start[b.in[0].buffer], any((uint32_t)b.elements[b.in[0].buffer]),
                        NAN);
    if (dtype_is_float(type) && kind == FOLD_PROD) /* near 1, so that no order overflows */
        for (int64_t e = 0; e < b.elements[b.in[0].buffer]; e++)
            dtype_store(type, b.start[b.in[0].buffer], e,
                        1 + dtype_load(type, b.start[b.in[0].buffer], e) / 64);
    run(&b, kernel_fold);

    fold_value *values = calloc((size_t)nkept, sizeof *values);
    do {
        fold_in(&values[at++ / nreduced], kind, type,
                dtype_load(type, b.start[b.in[0].buffer], place(&b, &b.in[0], index)));
    } while (next_index(&b, index));
    check_fold(&b, values);
    free(values);
    bench_close(&b);
}

static void test_random_folds(void **state)
{
    (void)state;
    random_state = 4;
    for (int trial = 0; trial < asked_much(3000, 600); trial++) fold_once(trial);
}

/* A long sum of equal numbers, where adding one by one would go wrong in the third digit. */
static void test_long_sum_is_accurate(void **state)
{
    (void)state;
    enum { N = 3000017 };
    for (int type = MTF_F32; type <= MTF_BF16; type++) {
        bench b;
        bench_open(&b, INSTR_FOLD);
        b.i.nin = b.i.nout = b.i.nloops = 1;
        b.i.size[0] = N;
        b.i.fold = (fold_args){FOLD_SUM, 0};
        b.in[0] = (access){.buffer = 0, .type = (mtf_dtype)type, .stride = {1}};
        b.out[0] = (access){.buffer = 1, .type = MTF_F32};
        b.elements[0] = N;
        b.elements[1] = 1;
        b.type[0] = (mtf_dtype)type;
        b.type[1] = MTF_F32;
        fill(&b);
        for (int64_t e = 0; e < N; e++) dtype_store((mtf_dtype)type, b.start[0], e, 0.1);
        double each = dtype_load((mtf_dtype)type, b.start[0], 0);
        run(&b, kernel_fold);
        check_near(dtype_load(MTF_F32, b.base[1], 0), N * each, 1e-6 * N * each);
        bench_close(&b);
    }
}

static void test_empty_loops(void **state)
{
    (void)state;
    static const double nothing[] = {
        [FOLD_SUM] = 0, [FOLD_PROD] = 1, [FOLD_MAX] = -INFINITY, [FOLD_MIN] = INFINITY};
    for (int kind = FOLD_SUM; kind <= FOLD_PROD; kind++) {
        bench b;
        bench_open(&b, INSTR_FOLD);
        b.i.nin = b.i.nout = 1;
        b.i.nloops = 2;
        b.i.size[0] = 5;
        b.i.size[1] = 1;
        b.i.fold = (fold_args){(fold_kind)kind, 1};
        random_access(&b, &b.in[0], MTF_F32, 0, 1);
        random_access(&b, &b.out[0], MTF_F32, 2, 1);
        fill(&b);
        b.i.size[1] = 0;
        run(&b, kernel_fold);
        for (int64_t e = 0; e < 5; e++)
            check_near(dtype_load(MTF_F32, b.base[1], b.out[0].offset + e * b.out[0].stride[0]),
                       nothing[kind], 0);
        run(&b, kernel_move);
        run(&b, kernel_add_into);
        bench_close(&b);
    }
}

/* ---- scan ---- */

static void check_scan(const bench *b)
{
    const scan_args *how = &b->i.scan;
    mtf_dtype        type = b->in[0].type;
    int64_t          index[MAX_LOOPS] = {0};
    do {
        double sum = 0, size = 0;
        for (int64_t k = 0; k < how->along; k++) {
            int64_t at = how->reverse ? how->along - 1 - k : k;
            int64_t in = place(b, &b->in[0], index) + at * how->in_stride;
            int64_t out = place(b, &b->out[0], index) + at * how->out_stride;
            double  x = dtype_load(type, b->start[b->in[0].buffer], in), before = sum;
            sum = type == MTF_BOOL ? sum != 0 || x != 0 : sum + x;
            size += fabs(x) + fabs(sum);
            double want = how->exclusive ? before : sum;
            check_near(dtype_load(type, b->base[b->out[0].buffer], out), want,
                       rounding(dtype_compute(type)) * size + rounding(type) * fabs(want));
        }
    } while (next_index(b, index));
}

static void test_random_scans(void **state)
{
    (void)state;
    random_state = 5;
    for (int trial = 0; trial < asked_much(500, 100); trial++) {
        bench     b;
        mtf_dtype type = (mtf_dtype)any(MTF_BOOL + 1);
        bench_open(&b, INSTR_SCAN);
        random_loops(&b, trial % 10 == 0 ? 5000 : 300);
        b.i.nin = b.i.nout = 1;
        int most = trial % 50 == 5  ? 3000
                   : trial % 5 == 0 ? 600
                                    : 20; /* 1024 are gone through at once */
        b.i.scan = (scan_args){.along = 1 + any(most), .exclusive = any(2), .reverse = any(2)};
        b.i.scan.in_stride =
            random_access(&b, &b.in[0], type, any(4) == 0 ? any(32) : 0, b.i.scan.along);
        b.i.scan.out_stride = random_access(&b, &b.out[0], type, 0, b.i.scan.along);
        fill(&b);
        run(&b, kernel_scan);
        check_scan(&b);
        bench_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_function),
        cmocka_unit_test(test_integers_wrap),
        cmocka_unit_test(test_float_exp_and_tanh),
        cmocka_unit_test(test_random_maps),
        cmocka_unit_test(test_random_maps_by_rows),
        cmocka_unit_test(test_select_of_one_number_a_row),
        cmocka_unit_test(test_random_moves),
        cmocka_unit_test(test_random_sums_into_place),
        cmocka_unit_test(test_random_folds),
        cmocka_unit_test(test_long_sum_is_accurate),
        cmocka_unit_test(test_empty_loops),
        cmocka_unit_test(test_random_scans),
    };
    return cmocka_run_group_tests_name("map, move, add_into, fold, scan", tests, NULL, NULL);
}
