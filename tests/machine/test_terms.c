/* Tests the loops of products with few terms, at every level that this chip can run. */
#include "cpu/levels.h"
#include "cpu/matrix.h"
#include "cpu/contract_way.h"

#include "ground.h"

enum { MOST_LEVELS = 8, ROWS = 9, COLS = 75, UNIT = TERMS_UNIT, WIDE = (COLS / UNIT + 1) * UNIT };

/* Elements of a have both strides; c has room between rows, which stays as it was. */
static void check_level(const level *here, int64_t rows, int64_t cols, int64_t count, bool add)
{
    enum { MOST = 16, APART = COLS + 3, OUTSIDE = 1000 * 1000 * 1000 };
    static float a[ROWS * MOST * 2], b[MOST * WIDE], c[ROWS * APART];
    const terms  t = {.rows = rows,
                      .cols = cols,
                      .terms = count,
                      .a_row = 2,
                      .a_term = 2 * ROWS,
                      .b_row = WIDE,
                      .c_row = APART,
                      .add = add};
    for (int k = 0; k < ROWS * MOST * 2; k++) a[k] = (float)(k * 7 % 11) - 5;
    for (int k = 0; k < MOST * WIDE; k++) b[k] = (float)(k * 5 % 13) - 6;
    for (int k = 0; k < ROWS * APART; k++) c[k] = OUTSIDE;
    for (int64_t k = 0; add && k < rows * cols; k++)
        c[k / cols * APART + k % cols] = (float)(k % 7);
    here->terms->loop(&t, a, b, c);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < APART; j++) {
            bool  inside = i < rows && j < cols;
            float want = !inside ? OUTSIDE : add ? (float)((i * cols + j) % 7) : 0;
            for (int64_t l = 0; l < count && inside; l++)
                want += a[i * t.a_row + l * t.a_term] * b[l * t.b_row + j];
            if (c[i * APART + j] != want)
                fail_msg("%s: [%d, %d] of %d x %d x %d is %g, not %g", here->name, (int)i, (int)j,
                         (int)rows, (int)cols, (int)count, (double)c[i * APART + j], (double)want);
        }
}

static void test_every_edge(void **state)
{
    (void)state;
    int levels = 0;
    for (int i = 0; i < MOST_LEVELS; i++) {
        if (!level_at(i)) continue;
        levels++;
        for (int64_t rows = 1; rows <= ROWS; rows++)
            for (int64_t cols = 1; cols <= COLS; cols++)
                for (int64_t count = 1; count <= 16; count += 5)
                    for (int add = 0; add < 2; add++)
                        check_level(level_at(i), rows, cols, count, add);
    }
    assert_true(levels > 0);
}

/* Terms of a near by and far apart, rows of b and its transpose, columns of several strips. */
static void test_whole_products(void **state)
{
    (void)state;
    enum { M = 37, N = 700, K = MOST_TERMS, APART = 300 };
    static float a[M * APART], b[N * K], c[M * N];
    for (int k = 0; k < M * APART; k++) a[k] = (float)(k * 7 % 11) - 5;
    for (int k = 0; k < N * K; k++) b[k] = (float)(k * 5 % 13) - 6;
    for (int way = 0; way < 4; way++) {
        bool    far = way & 1, transposed = way & 2;
        product p = {.type = MTF_F32, .m = M, .n = N, .k = K, .c_m = N, .c_n = 1};
        p.a_m = far ? 1 : K, p.a_k = far ? APART : 1;
        p.b_k = transposed ? 1 : N, p.b_n = transposed ? K : 1;
        assert_true(product_terms(&p, a, b, c));
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++) {
                float want = 0;
                for (int64_t l = 0; l < K; l++)
                    want += a[i * p.a_m + l * p.a_k] * b[l * p.b_k + j * p.b_n];
                assert_true(c[i * N + j] == want);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_edge),
                                       cmocka_unit_test(test_whole_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
