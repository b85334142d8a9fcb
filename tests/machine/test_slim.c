/* Tests the loops of products with a few columns, at every level that this chip can run. */
#include "cpu/levels.h"

#include <string.h>

#include "ground.h"

enum { MOST_LEVELS = 8, ROWS = 27, TERMS = 33, MOST_UNIT = 16, LENGTH = 70 };

/* Small whole numbers: no sum of them is rounded. */
static float number_of(int k, int modulus)
{
    return (float)(k * 7 % modulus) - (float)(modulus / 2);
}

/* c has room between its elements, both ways, which stays as it was.  `apart`: a has its rows side by side, and b
 * room between its own. */
static void check_along(const slim_tables *loops, slim_along s, bool apart)
{
    enum { APART = 2 * SLIM_WIDE + 1, MOST_WIDE = MOST_UNIT + 3 };
    static float a[ROWS * TERMS], b[TERMS * MOST_WIDE], c[ROWS * APART];
    int          width = (s.cols + loops->unit - 1) / loops->unit * loops->unit;
    s.a_row = apart ? 1 : TERMS, s.a_term = apart ? ROWS : 1, s.b_row = width + (apart ? 3 : 0);
    s.c_row = APART, s.c_col = 2;
    for (int k = 0; k < ROWS * TERMS; k++) a[k] = number_of(k, 11);
    for (int k = 0; k < TERMS * MOST_WIDE; k++) b[k] = k % s.b_row < s.cols ? number_of(k, 13) : 0;
    for (int k = 0; k < ROWS * APART; k++) c[k] = number_of(k, 17);
    loops->along(&s, a, b, c);
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < APART; j++) {
            bool  in = i < s.rows && j % 2 == 0 && j / 2 < s.cols;
            float want = in && !s.add ? 0 : number_of((int)(i * APART + j), 17);
            for (int64_t l = 0; l < s.terms && in; l++)
                want += a[i * s.a_row + l * s.a_term] * b[l * s.b_row + j / 2];
            if (c[i * APART + j] != want)
                fail_msg("[%d, %d] of %d x %d x %d is %g, not %g", (int)i, (int)j, (int)s.rows,
                         s.cols, (int)s.terms, (double)c[i * APART + j], (double)want);
        }
}

/* Sums after the stretch, and of columns that are not there, stay as they were. */
static void check_across(slim_across_loop *loop, int rows, int64_t length, int cols)
{
    static float     a[SLIM_TOGETHER * (LENGTH + 3)];
    static slim_sums sums;
    slim_factors     b;
    for (int k = 0; k < SLIM_TOGETHER * (LENGTH + 3); k++) a[k] = number_of(k, 11);
    for (int j = 0; j < SLIM_WIDE; j++) {
        for (int l = 0; l < SLIM_TOGETHER; l++) b[j][l] = number_of(j * SLIM_TOGETHER + l, 13);
        for (int i = 0; i < SLIM_STRETCH; i++) sums[j][i] = number_of(j + i, 17);
    }
    loop(length, cols, a, LENGTH + 3, b, sums);
    for (int j = 0; j < SLIM_WIDE; j++)
        for (int i = 0; i < SLIM_STRETCH; i++) {
            float want = number_of(j + i, 17);
            for (int l = 0; l < rows && i < length && j < cols; l++)
                want += a[l * (LENGTH + 3) + i] * b[j][l];
            if (sums[j][i] != want)
                fail_msg("[%d, %d] of %d rows, %d long, by %d is %g, not %g", j, i, rows,
                         (int)length, cols, (double)sums[j][i], (double)want);
        }
}

static void check_loops(const slim_tables *loops)
{
    assert_true(loops->unit <= MOST_UNIT);
    for (int cols = 1; cols <= SLIM_WIDE; cols++) {
        for (int rows = 1; rows <= ROWS; rows++)
            for (int count = 1; count <= TERMS; count += 4)
                for (int apart = 0; apart <= loops->apart; apart++)
                    check_along(
                        loops,
                        (slim_along){.rows = rows, .terms = count, .cols = cols, .add = count & 4},
                        apart);
        for (int64_t length = 1; length <= LENGTH; length++) {
            check_across(loops->across, SLIM_TOGETHER, length, cols);
            check_across(loops->across_one, 1, length, cols);
        }
    }
}

static void test_every_edge(void **state)
{
    (void)state;
    for (int i = 0; i < MOST_LEVELS; i++)
        if (level_at(i)) check_loops(level_at(i)->slim);
    check_loops(slim_loops());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_edge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
