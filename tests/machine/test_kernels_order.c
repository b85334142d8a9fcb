/* Gather, scatter, sorting and random numbers against plain loops. */
#include "machine/trial.h"

/* ---- gather and scatter ------------------------------------------------------------------- */

/* Loops: i0, i1 move the index, j0, j1 the data.  The table has i0 (maybe), the indexed dimension
 * and the j's; the data has everything. */
typedef struct index_case {
    int64_t   size[4], along;
    bool      batched, set;
    mtf_dtype type, index_type;
} index_case;

static index_case random_index_case(int round)
{
    index_case c = {.along = pick(1, 9), .batched = chance(2), .set = chance(2)};
    for (int l = 0; l < 4; l++) c.size[l] = pick(1, 6);
    if (round % 20 == 19) c.size[1] = pick(90, 130), c.size[3] = pick(90, 130); /* parallel */
    if (round % 20 == 18) c.size[0] = c.size[1] = 1, c.size[2] = c.size[3] = 257;
    c.type = all_types[pick(0, 6)];
    c.index_type = chance(2) ? MTF_I32 : MTF_I64;
    return c;
}

/* The two operands: which is first depends on who writes. */
static trial index_trial(const index_case *c, bool scatter)
{
    trial   t = trial_of(scatter ? INSTR_SCATTER : INSTR_GATHER, 4, c->size);
    int     order[5];
    int64_t table[5], data[4], index[2];
    int64_t table_size[5] = {c->batched ? c->size[0] : 1, 1, c->size[2], c->size[3], c->along};
    shuffle(5, order);
    if (chance(2)) memcpy(order, (int[]){0, 1, 4, 2, 3}, sizeof order); /* the usual */
    int64_t table_count = lay_out(5, order, table_size, 0, table);
    shuffle(4, order);
    int64_t data_count = lay_out(4, order, c->size, chance(2) ? 3 : 0, data);
    shuffle(2, order);
    int64_t index_count = lay_out(2, order, c->size, 0, index);
    for (int k = 0; k < 2; k++) {
        bool    is_table = (k == 0) == scatter;
        access *a = add_operand(&t, c->type, is_table ? table_count : data_count, k == 0);
        for (int l = 0; l < 4; l++) a->stride[l] = is_table ? table[l] : data[l];
        if (is_table) a->stride[1] = 0;
        if (is_table && !c->batched) a->stride[0] = 0;
        if (k == 0 && scatter) fill(c->type, t.memory[0], table_count);
    }
    access *a = add_operand(&t, c->index_type, index_count, false);
    for (int l = 0; l < 2; l++) a->stride[l] = index[l];
    for (int64_t k = 0; k < index_count; k++)
        dtype_store(c->index_type, t.memory[2], k, (double)pick(chance(5) ? -2 : 0, c->along));
    t.i.gather =
        (gather_args){.nindex = 2, .along = c->along, .along_stride = table[4], .set = c->set};
    return t;
}

static double index_of(const trial *t, int64_t iteration)
{
    return dtype_load(t->operands[2].type, t->memory[2],
                      offset_at(t, &t->operands[2], 0, iteration));
}

static void test_gather(void **state)
{
    (void)state;
    seed_state = 5;
    for (int round = 0; round < 400; round++) {
        index_case c = random_index_case(round);
        trial      t = index_trial(&c, false);
        size_t     bytes = mtf_dtype_bytes(c.type);
        int64_t    along = t.i.gather.along_stride;
        run_trial(&t, kernel_gather, 1);
        for (int64_t e = 0; e < iterations_of(&t); e++) {
            double      at = index_of(&t, e);
            int64_t     in = offset_at(&t, &t.operands[1], 0, e) + (int64_t)at * along;
            const char  zero[8] = {0};
            const char *want = at < 0 || at >= (double)c.along
                                   ? zero
                                   : (const char *)t.memory[1] + in * (int64_t)bytes;
            int64_t     out = offset_at(&t, &t.operands[0], 0, e);
            assert_memory_equal((const char *)t.memory[0] + out * (int64_t)bytes, want, bytes);
        }
        trial_free(&t);
    }
}

/* One element of a scatter, as its definition says. */
static void put_reference(mtf_dtype type, char *to, const char *from, bool set)
{
    size_t   bytes = mtf_dtype_bytes(type);
    uint64_t whole;
    if (set) {
        memcpy(to, from, bytes);
    } else if (type == MTF_I32 || type == MTF_I64 || type == MTF_BOOL) {
        uint64_t x = whole_at(type, to, 0), y = whole_at(type, from, 0);
        whole = type == MTF_BOOL ? (x | y) : x + y;
        memcpy(to, &whole, bytes); /* low bytes first on every machine we run on */
    } else if (type == MTF_F64) {
        *(double *)to += *(const double *)from;
    } else {
        dtype_store(type, to, 0, (float)(dtype_load(type, to, 0) + dtype_load(type, from, 0)));
    }
}

static void test_scatter(void **state)
{
    (void)state;
    seed_state = 6;
    for (int round = 0; round < 400; round++) {
        index_case c = random_index_case(round);
        trial      t = index_trial(&c, true);
        int64_t    bytes = (int64_t)mtf_dtype_bytes(c.type), along = t.i.gather.along_stride;
        char      *want = malloc((size_t)(t.count[0] * bytes));
        memcpy(want, t.memory[0], (size_t)(t.count[0] * bytes));
        run_trial(&t, kernel_scatter, 1);
        for (int64_t e = 0; e < iterations_of(&t); e++) {
            double at = index_of(&t, e);
            if (at < 0 || at >= (double)c.along) continue;
            int64_t to = offset_at(&t, &t.operands[0], 0, e) + (int64_t)at * along;
            int64_t from = offset_at(&t, &t.operands[1], 0, e);
            put_reference(c.type, want + to * bytes, (char *)t.memory[1] + from * bytes, c.set);
        }
        assert_memory_equal(t.memory[0], want, (size_t)(t.count[0] * bytes));
        free(want);
        trial_free(&t);
    }
}

/* Windows that overlap: out[i + index[i], j] += data[i, j] must run in order. */
static void test_scatter_overlapping(void **state)
{
    (void)state;
    const int64_t size[2] = {251, 240}, along = 7;
    seed_state = 12;
    trial   t = trial_of(INSTR_SCATTER, 2, size);
    int64_t count[2] = {(size[0] + along - 1) * size[1], size[0] * size[1]};
    for (int k = 0; k < 2; k++) {
        access *a = add_operand(&t, MTF_F32, count[k], false);
        a->stride[0] = size[1];
        a->stride[1] = 1;
        for (int64_t e = 0; e < count[k]; e++)
            ((float *)t.memory[k])[e] = (float)pick(-999, 999) / 7.0f;
    }
    add_operand(&t, MTF_I32, size[0], false)->stride[0] = 1;
    for (int64_t e = 0; e < size[0]; e++) ((int32_t *)t.memory[2])[e] = (int32_t)pick(0, 6);
    t.i.gather = (gather_args){.nindex = 1, .along = along, .along_stride = size[1]};
    float *want = malloc((size_t)count[0] * sizeof *want);
    memcpy(want, t.memory[0], (size_t)count[0] * sizeof *want);
    run_trial(&t, kernel_scatter, 1);
    for (int64_t e = 0; e < count[1]; e++) {
        int64_t row = e / size[1] + ((int32_t *)t.memory[2])[e / size[1]];
        want[row * size[1] + e % size[1]] += ((float *)t.memory[1])[e];
    }
    assert_memory_equal(t.memory[0], want, (size_t)count[0] * sizeof *want);
    free(want);
    trial_free(&t);
}

/* ---- order -------------------------------------------------------------------------------- */

/* Whether element a comes before element b; a and b are positions in a row. */
static bool comes_before(mtf_dtype type, const void *x, const int64_t *at, bool descending)
{
    if (type == MTF_I64) {
        int64_t a = ((const int64_t *)x)[at[0]], b = ((const int64_t *)x)[at[1]];
        return descending ? a > b : a < b;
    }
    double a = dtype_load(type, x, at[0]), b = dtype_load(type, x, at[1]);
    if (isnan(a) || isnan(b)) return descending ? isnan(a) && !isnan(b) : !isnan(a) && isnan(b);
    return descending ? a > b : a < b;
}

static void check_order(const trial *t)
{
    const order_args *o = &t->i.order;
    size_t            bytes = mtf_dtype_bytes(t->operands[2].type);
    int64_t          *sorted = malloc((size_t)o->along * sizeof *sorted);
    for (int64_t e = 0; e < iterations_of(t); e++) {
        int64_t in = offset_at(t, &t->operands[2], 0, e), n = 0;
        for (int64_t j = 0; j < o->along; j++) { /* insertion: stable */
            int64_t to = n++;
            for (; to > 0; to--) {
                int64_t at[2] = {in + j * o->in_stride, in + sorted[to - 1] * o->in_stride};
                if (!comes_before(t->operands[2].type, t->memory[2], at, o->descending)) break;
                sorted[to] = sorted[to - 1];
            }
            sorted[to] = j;
        }
        for (int64_t j = 0; j < o->k; j++) {
            int64_t v = offset_at(t, &t->operands[0], 0, e) + j * o->value_stride;
            int64_t x = offset_at(t, &t->operands[1], 0, e) + j * o->index_stride;
            assert_int_equal(((const int32_t *)t->memory[1])[x], sorted[j]);
            assert_memory_equal((const char *)t->memory[0] + v * (int64_t)bytes,
                                (const char *)t->memory[2] +
                                    (in + sorted[j] * o->in_stride) * (int64_t)bytes,
                                bytes);
        }
    }
    free(sorted);
}

static trial order_trial(mtf_dtype type, const int64_t *size, int64_t along, int64_t k)
{
    trial   t = trial_of(INSTR_ORDER, 2, size);
    int64_t stride[3], dims[3] = {size[0], size[1], along};
    int     order[3];
    t.i.order = (order_args){.along = along, .k = k, .descending = chance(2)};
    for (int o = 0; o < 3; o++) {
        shuffle(3, order);
        dims[2] = o < 2 ? k : along;
        int64_t count = lay_out(3, order, dims, 0, stride);
        access *a = add_operand(&t, o == 1 ? MTF_I32 : type, count, o < 2);
        memcpy(a->stride, stride, 2 * sizeof *stride);
        *(o == 0   ? &t.i.order.value_stride
          : o == 1 ? &t.i.order.index_stride
                   : &t.i.order.in_stride) = stride[2];
    }
    return t;
}

static void test_order(void **state)
{
    (void)state;
    static const double rare[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e300, -1e300};
    seed_state = 7;
    for (int round = 0; round < 700; round++) {
        mtf_dtype type = all_types[round % 7];
        int64_t   size[2] = {pick(1, 4), pick(1, 3)}, along = pick(1, 40);
        if (round % 50 == 49) along = pick(256, 900);
        if (round % 100 == 98) along = 500, size[0] = 41, size[1] = 3;
        int64_t k = chance(3) ? along : pick(1, along);
        trial   t = order_trial(type, size, along, k);
        if (chance(2)) /* many ties */
            for (int64_t e = 0; e < t.count[2]; e++)
                dtype_store(type, t.memory[2], e, (double)pick(-2, 2));
        for (int64_t e = 0; is_float(type) && e < t.count[2]; e++)
            if (chance(8)) dtype_store(type, t.memory[2], e, rare[pick(0, 6)]);
        run_trial(&t, kernel_order, 2);
        check_order(&t);
        trial_free(&t);
    }
}

/* ---- draw: a second implementation, written from docs/random.md ---------------------------- */

typedef struct drawn {
    uint64_t seed;
    uint32_t op, step;
} drawn;

static uint32_t reference_rounds(drawn d, uint64_t block, int word, int rounds)
{
    uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), d.op, d.step};
    uint32_t k[2] = {(uint32_t)d.seed, (uint32_t)(d.seed >> 32)};
    for (int round = 0; round < rounds; round++) {
        uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
        c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k[0];
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k[1];
        c[3] = (uint32_t)a;
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    return c[word];
}

static uint32_t reference_word(drawn d, uint64_t block, int word)
{
    return reference_rounds(d, block, word, 10);
}

/* A flag of this probability: eight to a block of seven rounds, two to a word, 15 bits of each half. */
static bool reference_flag(drawn d, uint64_t g, double probability)
{
    uint32_t word = reference_rounds(d, g / 8, (int)(g % 8 / 2), 7);
    return (g % 2 ? word / 65536 : word) % 32768 < floor(probability * 32768 + 0.5);
}

/* The iterations of the loops around, two at a time, outermost first. */
static drawn reference_iterations(drawn d, int n, const uint32_t *iterations)
{
    for (int k = 0; k < n; k += 2) {
        uint64_t pair = iterations[k] | (uint64_t)(k + 1 < n ? iterations[k + 1] : 0) << 32;
        drawn    then = {.op = reference_word(d, pair, 2), .step = reference_word(d, pair, 3)};
        then.seed = reference_word(d, pair, 0) | (uint64_t)reference_word(d, pair, 1) << 32;
        d = then;
    }
    return d;
}

static uint64_t reference_long(drawn d, uint64_t block, int word)
{
    return (uint64_t)reference_word(d, block, word) << 32 | reference_word(d, block, word + 1);
}

static double reference_unit(drawn d, uint64_t g)
{
    return (double)(reference_word(d, g / 4, (int)(g % 4)) >> 8) / 16777216.0;
}

/* By bisection: slow and beyond doubt. */
static double reference_quantile(double p)
{
    double low = -3, high = 3;
    for (int k = 0; k < 80; k++) {
        double middle = 0.5 * (low + high);
        *(0.5 * erf(middle / sqrt(2.0)) < p - 0.5 ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

static double reference_draw(const draw_args *a, drawn d, mtf_dtype type, uint64_t g)
{
    const double pi = 3.14159265358979323846;
    bool         wide = type == MTF_F64;
    double       u = wide ? (double)(reference_long(d, g / 2, 2 * (int)(g % 2)) >> 11) / 0x1p53
                          : reference_unit(d, g);
    if (type == MTF_BOOL) return reference_flag(d, g, a->b);
    if (type == MTF_I32)
        return a->a +
               floor((double)reference_word(d, g / 4, (int)(g % 4)) * (a->b - a->a) / 0x1p32);
    if (type == MTF_I64) /* b - a is a power of two in these tests */
        return a->a + floor((double)(reference_long(d, g / 2, 2 * (int)(g % 2)) >> 12) *
                            (a->b - a->a) / 0x1p52);
    if (a->kind == DRAW_UNIFORM && wide) return a->a + (a->b - a->a) * u;
    if (a->kind == DRAW_UNIFORM) /* products and sums of floats are exact in double, or nearly */
        return (float)(a->a + (float)((a->b - a->a) * u));
    if (a->kind == DRAW_TRUNCATED_NORMAL) {
        double tail = 0.5 * erfc(2 / sqrt(2.0)), middle = u + (wide ? 0x1p-54 : 0x1p-25);
        return a->a + a->b * reference_quantile(tail + middle * (1 - 2 * tail));
    }
    if (wide) {
        double u0 = (double)(reference_long(d, g, 0) >> 11) / 0x1p53;
        double u1 = (double)(reference_long(d, g, 2) >> 11) / 0x1p53;
        return a->a + a->b * sqrt(-2 * log(1 - u0)) * cos(2 * pi * u1);
    }
    double radius = sqrt(-2 * log(1 - reference_unit(d, g & ~(uint64_t)1)));
    double angle = 2 * pi * reference_unit(d, g | 1u);
    return a->a + a->b * radius * (g % 2 ? sin(angle) : cos(angle));
}

/* The number that memory holds; a uniform one stays below its bound (here: positive). */
static double reference_round(const draw_args *a, mtf_dtype type, double want)
{
    _Alignas(8) uint16_t bits[4];
    dtype_store(type, bits, 0, want);
    if (a->kind == DRAW_UNIFORM && (type == MTF_BF16 || type == MTF_F16))
        while (dtype_load(type, bits, 0) >= a->b) bits[0]--;
    return dtype_load(type, bits, 0);
}

static trial draw_trial(mtf_dtype type, draw_args args, int nloops, const int64_t *size)
{
    trial   t = trial_of(INSTR_DRAW, nloops, size);
    int     order[MAX_LOOPS];
    int64_t stride[MAX_LOOPS];
    t.i.draw = args;
    shuffle(nloops, order);
    access *a = add_operand(&t, type, lay_out(nloops, order, size, 0, stride), true);
    memcpy(a->stride, stride, (size_t)nloops * sizeof *stride);
    shuffle(nloops, order);
    lay_out(nloops, order, size, 0, t.i.draw.weight);
    return t;
}

static void test_draw_golden(void **state)
{
    (void)state;
    seed_state = 8;
    for (int round = 0; round < 420; round++) {
        mtf_dtype type = all_types[round % 7];
        bool      whole = !is_float(type);
        draw_args args = {.kind = whole ? DRAW_UNIFORM : (draw_kind)(round / 7 % 3),
                          .key = 77,
                          .first = pick(0, 1000),
                          .a = whole ? -5 : 0.75,
                          .b = whole ? 11 : 2.5};
        int64_t   size[3] = {pick(1, 5), pick(1, 7), pick(1, 9)};
        if (type == MTF_BOOL) args.b = 0.3;
        if (round == 0) size[2] = 3001;
        trial    t = draw_trial(type, args, 3, size);
        drawn    d = {.seed = t.run.seed = random_bits(), .op = 77, .step = t.run.step};
        uint32_t iterations[3];
        int      loops = (int)pick(0, 3);
        for (int k = 0; k < loops; k++) {
            iterations[k] = (uint32_t)(chance(2) ? pick(0, 900) : pick(1 << 24, INT32_MAX));
            add_operand(&t, MTF_I32, 1, false);
            *(int32_t *)t.memory[1 + k] = (int32_t)iterations[k];
        }
        d = reference_iterations(d, loops, iterations);
        run_trial(&t, kernel_draw, 1);
        access weights = {.offset = args.first};
        memcpy(weights.stride, t.i.draw.weight, sizeof weights.stride);
        for (int64_t e = 0; e < iterations_of(&t); e++) {
            double want = reference_draw(&args, d, type, (uint64_t)offset_at(&t, &weights, 0, e));
            double got = dtype_load(type, t.memory[0], offset_at(&t, &t.operands[0], 0, e));
            if (type == MTF_F64 ? !(fabs(got - want) <= 1e-14 * (fabs(want) + 1))
                                : got != reference_round(&args, type, want))
                fail_msg("%s: %.17g, not %.17g", mtf_dtype_name(type), got, want);
        }
        trial_free(&t);
    }
}

/* Mean and variance within five standard errors. */
static void test_draw_statistics(void **state)
{
    (void)state;
    const int64_t n = 200000;
    seed_state = 9;
    for (int type = 0; type < ARITHMETIC_TYPES; type++)
        for (int kind = 0; kind < 3; kind++) {
            bool whole = !is_float((mtf_dtype)type);
            if (whole && kind != DRAW_UNIFORM) continue;
            draw_args args = {.kind = (draw_kind)kind,
                              .key = 3,
                              .a = 0,
                              .b = type == MTF_BOOL ? 0.25
                                   : whole          ? 16
                                                    : 1};
            double    mean = kind != DRAW_UNIFORM ? 0 : type == MTF_BOOL ? 0.25 : whole ? 7.5 : 0.5;
            double    variance = kind == DRAW_NORMAL             ? 1
                                 : kind == DRAW_TRUNCATED_NORMAL ? 0.7737413
                                 : type == MTF_BOOL              ? 0.1875
                                 : whole                         ? 255.0 / 12
                                                                 : 1.0 / 12;
            double    sum = 0, squares = 0, fourths = 0;
            trial     t = draw_trial((mtf_dtype)type, args, 1, &n);
            run_once(&t, kernel_draw, 1, 1);
            for (int64_t e = 0; e < n; e++) {
                double v = dtype_load((mtf_dtype)type, t.memory[0], e);
                if (is_float((mtf_dtype)type) && kind == DRAW_UNIFORM) assert_true(v >= 0 && v < 1);
                if (kind == DRAW_TRUNCATED_NORMAL) assert_true(fabs(v) <= 2);
                double off = v - mean;
                sum += off;
                squares += off * off;
                fourths += off * off * off * off;
            }
            /* bf16 loses up to 2^-9 of each number, and the step below b shifts the mean. */
            double rounding = type == MTF_BF16 ? 0x1p-9 : type == MTF_F16 ? 0x1p-12 : 0;
            double spread = sqrt((fourths / (double)n - variance * variance) / (double)n);
            assert_true(fabs(sum / (double)n) < 5 * sqrt(variance / (double)n) + rounding);
            assert_true(fabs(squares / (double)n - variance) < 5 * spread + rounding);
            trial_free(&t);
        }
}

/* The whole range of integers, and the upper bound of short floats. */
static void test_draw_bounds(void **state)
{
    (void)state;
    const int64_t n = 100000;
    seed_state = 10;
    trial words = draw_trial(MTF_I32, (draw_args){.a = -0x1p31, .b = 0x1p31, .key = 1}, 1, &n);
    trial longs = draw_trial(MTF_I64, (draw_args){.a = -0x1p63, .b = 0x1p63, .key = 1}, 1, &n);
    run_once(&words, kernel_draw, 1, 2);
    run_once(&longs, kernel_draw, 1, 2);
    drawn d = {.seed = words.run.seed, .op = 1, .step = words.run.step};
    for (uint64_t g = 0; g < (uint64_t)n; g++) {
        assert_int_equal(((uint32_t *)words.memory[0])[g],
                         reference_word(d, g / 4, (int)(g % 4)) ^ 0x80000000u);
        assert_int_equal(((uint64_t *)longs.memory[0])[g],
                         reference_long(d, g / 2, 2 * (int)(g % 2)) ^ (uint64_t)1 << 63);
    }
    trial_free(&words);
    trial_free(&longs);
    /* The last two have so few numbers between them that every bound is met. */
    static const double bounds[][2] = {{-1.5, 1},  {-1.5, 0.3},      {-1.5, 0},
                                       {-1.5, -1}, {1, 1 + 0x1p-20}, {1, 1 + 0x1p-49}};
    for (int k = 0; k < 6; k++)
        for (int type = k < 5 ? 0 : MTF_F64; type <= MTF_F64; type++) {
            draw_args args = {.a = bounds[k][0], .b = bounds[k][1], .key = 2};
            double    low = args.a, high = type == MTF_F64 ? args.b : (double)(float)args.b;
            trial     t = draw_trial((mtf_dtype)type, args, 1, &n);
            run_once(&t, kernel_draw, 1, 2);
            for (int64_t e = 0; e < n; e++) {
                double v = dtype_load((mtf_dtype)type, t.memory[0], e);
                assert_true(v >= low && v < high);
            }
            trial_free(&t);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_scatter_overlapping),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_draw_golden),
        cmocka_unit_test(test_draw_statistics),
        cmocka_unit_test(test_draw_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
