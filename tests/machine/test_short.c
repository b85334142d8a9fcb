/* Products of bf16 matrices against sums in double.
 *
 * Operands in every order, with gaps, and results of both types.  What is
 * multiplied is exact in f32.  BFMMLA adds a pair of products, and then the sum
 * so far, each time with rounding to odd, which errs by less than 2^-23 of the
 * result; others round each addition to nearest, by 2^-24.  So k terms err by at most
 * k * 2^-23 of the sum of their magnitudes, before the result is rounded to bf16.
 */
#include "asked.h"
#include "machine/trial.h"

#include "cpu/levels.h"
#include "cpu/short_tile.h"

/* `before`: what the result held, if the product adds to it. */
static void try_short(trial *t, const void *before)
{
    const access *c = &t->operands[0], *a = &t->operands[1], *b = &t->operands[2];
    int           k = t->i.nloops - 1;
    int64_t       nterms = t->i.size[k], results = iterations_of(t) / nterms;
    run_trial(t, kernel_contract, 1);
    for (int64_t r = 0; r < results; r += 1 + results / 1500) { /* some of many */
        double held = before ? dtype_load(c->type, before, offset_at(t, c, 1, r)) : 0;
        total  s = {.sum = held, .magnitude = fabs(held)};
        for (int64_t j = 0; j < nterms; j++)
            add_product(&s, MTF_BF16, t->memory[1], offset_at(t, a, 1, r) + j * a->stride[k],
                        t->memory[2], offset_at(t, b, 1, r) + j * b->stride[k]);
        double got = dtype_load(c->type, t->memory[0], offset_at(t, c, 1, r));
        double allowed = (double)nterms * 0x1p-23 * s.magnitude;
        if (c->type == MTF_BF16) allowed += 0x1p-8 * (fabs(s.sum) + allowed);
        if (!(fabs(got - s.sum) <= allowed))
            fail_msg("%lld terms: %.9g, not %.9g", (long long)nterms, got, s.sum);
    }
}

static void check_short(trial *t)
{
    try_short(t, NULL);
    if (t->operands[0].type == MTF_F32) {
        void *before = add_into_result(t);
        try_short(t, before);
        free(before);
    }
    trial_free(t);
}

/* Lays an operand out over the batch and two of m, n, k, with gaps between rows. */
static void lay(trial *t, mtf_dtype type, int p, int q, bool transposed, bool out)
{
    int     order[3] = {0, transposed ? 2 : 1, transposed ? 1 : 2};
    int64_t size[3] = {t->i.size[0], t->i.size[1 + p], t->i.size[1 + q]}, stride[3];
    int64_t count = lay_out(3, order, size, pick(0, 3), stride);
    access *a = add_operand(t, type, count, out);
    a->stride[0] = stride[0];
    a->stride[1 + p] = stride[1];
    a->stride[1 + q] = stride[2];
    for (int64_t k = 0; k < count && !out; k++) /* all eight bits of a fraction */
        ((uint16_t *)t->memory[t->noperands - 1])[k] =
            (uint16_t)(chance(2) << 15 | pick(120, 130) << 7 | pick(0, 127));
}

static void try_product(const int64_t *size, int round)
{
    trial t = trial_of(INSTR_CONTRACT, 4, size);
    lay(&t, round & 1 ? MTF_BF16 : MTF_F32, 0, 1, round & 2, true);
    lay(&t, MTF_BF16, 0, 2, round & 4, false);
    lay(&t, MTF_BF16, 2, 1, round & 8, false);
    check_short(&t);
}

static void test_edges(void **state)
{
    (void)state;
    seed_state = 1;
    int step = asked_much(1, 3);
    for (int64_t m = 1; m <= 17; m += step)
        for (int64_t n = 1; n <= 17; n += step)
            try_product((int64_t[]){1, m, n, pick(1, 40)}, (int)pick(0, 15));
}

/* Panels, blocks, stretches of k and chunks of sums, each once filled and once begun; pieces of one
 * row, or one column, round as they do in the whole. */
static void test_blocks(void **state)
{
    (void)state;
    static const int64_t sizes[][4] = {{1, 64, 96, 64},     {1, 129, 70, 90},    {1, 40, 193, 1090},
                                       {1, 261, 130, 70},   {1, 270, 1100, 30},  {1, 1100, 270, 33},
                                       {1, 70, 61, 1024},   {1, 70, 61, 1025},   {1, 33, 300, 2300},
                                       {1, 530, 527, 1100}, {3, 97, 203, 84},    {70, 20, 31, 17},
                                       {33, 3, 40, 50},     {1, 5, 700, 130},    {1, 700, 12, 1300},
                                       {2, 257, 257, 1031}, {1, 128, 128, 4096}, {5, 31, 2, 999}};
    seed_state = 2;
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c += (size_t)asked_much(1, 2))
        for (int round = 0; round < asked_much(16, 1); round += c % 4 == 3 ? 1 : 3)
            try_product(sizes[c], round);
}

/* Matrices times vectors: long rows, rows across the sum, in parts, and in many pieces. */
static void test_vectors(void **state)
{
    (void)state;
    seed_state = 3;
    for (int round = 0; round < asked_much(160, 40); round++) {
        int64_t size[4] = {round % 5 ? 1 : 3, 1, 1, pick(1, round % 9 ? 1200 : 5000)};
        if (round % 7) size[1 + round / 16 % 2] = pick(2, round % 3 ? 90 : 2400);
        try_product(size, round);
    }
}

/* Operands that repeat rows, or run backwards. */
static void test_odd_strides(void **state)
{
    (void)state;
    seed_state = 4;
    for (int round = 0; round < 32; round++) {
        int64_t m = pick(2, 70), n = pick(2, 70), k = pick(2, 70);
        trial   t = trial_of(INSTR_CONTRACT, 4, (int64_t[]){1, m, n, k});
        lay(&t, round & 1 ? MTF_BF16 : MTF_F32, 0, 1, round & 2, true);
        access *a = add_operand(&t, MTF_BF16, m * k, false);
        a->stride[1] = round & 4 ? 0 : -k;
        a->stride[3] = 1;
        if (!(round & 4)) a->offset = (m - 1) * k;
        lay(&t, MTF_BF16, 2, 1, round & 8, false);
        check_short(&t);
    }
}

/* Infinity and NaN come through, and only where they belong: tiles are filled up with zeros. */
static void test_not_finite(void **state)
{
    (void)state;
    enum { M = 13, N = 29, K = 37 };
    trial t = trial_of(INSTR_CONTRACT, 4, (int64_t[]){1, M, N, K});
    seed_state = 5;
    lay(&t, MTF_F32, 0, 1, false, true);
    lay(&t, MTF_BF16, 0, 2, false, false);
    lay(&t, MTF_BF16, 2, 1, false, false);
    dtype_store(MTF_BF16, t.memory[1], 3 * t.operands[1].stride[1] + K - 1, (double)INFINITY);
    dtype_store(MTF_BF16, t.memory[2], 5 * t.operands[2].stride[3] + N - 1, (double)NAN);
    run_once(&t, kernel_contract, 1, 2);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float x = ((const float *)t.memory[0])[i * t.operands[0].stride[1] + j];
            assert_int_equal(isnan(x) != 0, j == N - 1);
            assert_int_equal(isinf(x) != 0, i == 3 && j != N - 1);
        }
    trial_free(&t);
}

/* Rounding a finished row is what dtype.h says it is. */
static void test_narrowing(void **state)
{
    (void)state;
    enum { COUNT = 1 << 16 };
    static float      from[COUNT];
    static uint16_t   to[COUNT];
    const short_tile *tile = short_tile_here();
    if (!tile) skip();
    seed_state = 6;
    for (int round = 0; round < 8; round++) {
        int64_t n = COUNT - round;
        for (int64_t k = 0; k < n; k++) from[k] = f32_of_bits((uint32_t)random_bits());
        tile->narrow(n, from, to);
        for (int64_t k = 0; k < n; k++) assert_int_equal(to[k], f32_to_bf16(from[k]));
    }
}

/* Every level of the loops with vectors gives the same bits. */
static void test_levels(void **state)
{
    (void)state;
    enum { ROWS = 37, K = 4300 }; /* more than a stretch */
    static uint16_t a[ROWS * K], b[K];
    float           want[2][ROWS], got[ROWS];
    seed_state = 7;
    fill(MTF_BF16, a, ROWS * K);
    fill(MTF_BF16, b, K);
    for (int k = 0; k < ROWS * K; k++) a[k] = (uint16_t)(a[k] | pick(0, 127));
    level_at(0)->shorts->along(ROWS, K, a, K, b, 1, want[0]);
    level_at(0)->shorts->across(ROWS, K, a, ROWS, b, 1, want[1]);
    for (int i = 1; level_at(i); i++) {
        level_at(i)->shorts->along(ROWS, K, a, K, b, 1, got);
        assert_memory_equal(got, want[0], sizeof got);
        level_at(i)->shorts->across(ROWS, K, a, ROWS, b, 1, got);
        assert_memory_equal(got, want[1], sizeof got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),      cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_vectors),    cmocka_unit_test(test_odd_strides),
        cmocka_unit_test(test_not_finite), cmocka_unit_test(test_narrowing),
        cmocka_unit_test(test_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
