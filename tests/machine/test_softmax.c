/* A softmax done row by row against the same in parts.
 *
 * Where e^(x - m) is fetched as well, a softmax's steps are taken one by one: both
 * ways must give the same bits, for rows of any length, whatever is in them.
 */
#include "ground.h"

enum { ROWS = 9, LONGEST = 3000 };

/* What a row holds beside numbers around 0; in the places of `period`. */
static const struct {
    const char *name;
    float       value;
    int         period;
} contents[] = {
    {"near", 1, 7},
    {"masked", -1e9f, 2},
    {"far", -95, 3},
    {"hardly there", -104, 5},
    {"NaN", NAN, 100},
    {"infinite", INFINITY, 90},
    {"minus infinity", -INFINITY, 4},
    {"nothing but masks", -INFINITY, 1},
    {"large", 3e38f, 11},
};
enum { KINDS = sizeof contents / sizeof *contents };

static void fill(float *x, int columns)
{
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < columns; c++) {
            int kind = r % KINDS;
            x[r * columns + c] = c % contents[kind].period == 0
                                     ? contents[kind].value
                                     : (float)((r * 31 + c * 17) % 97) / 16 - 3;
        }
}

static mtf_tensor *by_parts(mtf_tensor *x, mtf_dim columns, mtf_tensor **e)
{
    mtf_tensor *m = mtf_clip(mtf_reduce_max(x, mtf_shape(columns)), -1e38, 1e38);
    *e = mtf_exp(mtf_sub(x, m));
    return mtf_multiply(*e, mtf_reciprocal(mtf_reduce_sum(*e, mtf_shape(columns))));
}

/* `made`: the softmax reads what steps before it made, as in attention. */
static void softmax(int columns, bool made, bool in_parts, int threads, const float *data,
                    float *result)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = threads});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      rows = {"rows", ROWS}, cols = {"columns", columns};
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(rows, cols)), *e = NULL;
    mtf_tensor  *z = made ? mtf_add(mtf_multiply(x, x), x) : x;
    mtf_tensor  *y = in_parts ? by_parts(z, cols, &e) : mtf_softmax(z, cols, NULL);
    mtf_program *p = in_parts ? mtf_compile(g, y, e) : mtf_compile(g, y);
    assert_true(mtf_feed(p, x, data) && mtf_step(p) && mtf_fetch(p, y, result));
    close_well(s);
}

static void compare(int columns, bool made)
{
    float *x = malloc(sizeof *x * ROWS * (size_t)columns),
          *want = malloc(sizeof *x * ROWS * LONGEST);
    float *got = malloc(sizeof *x * ROWS * LONGEST);
    assert_true(x && want && got);
    fill(x, columns);
    softmax(columns, made, true, 1, x, want);
    for (int threads = 1; threads < 4; threads++) {
        softmax(columns, made, false, threads, x, got);
        for (int k = 0; k < ROWS * columns; k++) {
            bool same = memcmp(&got[k], &want[k], sizeof *got) == 0;
            if (!same && !(isnan(got[k]) && isnan(want[k])))
                fail_msg("%s, %d columns%s: element %d is %a, not %a",
                         contents[k / columns % KINDS].name, columns, made ? ", made" : "",
                         k % columns, (double)got[k], (double)want[k]);
        }
    }
    free(x), free(want), free(got);
}

static void test_the_same_bits(void **state)
{
    (void)state;
    static const int lengths[] = {1,   5,    127,  128,  129,  255,    256,
                                  257, 1000, 1024, 1025, 2048, LONGEST};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (int made = 0; made < 2; made++) compare(lengths[k], made);
}

/* Against sums of doubles. */
static void test_values(void **state)
{
    (void)state;
    enum { COLUMNS = 300 };
    float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    for (int k = 0; k < ROWS * COLUMNS; k++) x[k] = (float)(k * 37 % 101) / 10 - 5;
    softmax(COLUMNS, false, false, 1, x, y);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int c = 0; c < COLUMNS; c++) sum += exp((double)x[r * COLUMNS + c]);
        for (int c = 0; c < COLUMNS; c++) {
            double want = exp((double)x[r * COLUMNS + c]) / sum, got = (double)y[r * COLUMNS + c];
            assert_true(fabs(got - want) <= 1e-6 * want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_bits),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
