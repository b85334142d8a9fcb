/* A row of a grouped product: the same bits wherever it stands, whatever stands beside it. */
#include "machine/trial.h"

enum { TERMS = 523, COLUMNS = 77, GROUPS = 3 };

/* One number of each sign and size, so that another order of summation would show. */
static void fill_widely(mtf_dtype type, void *to, int64_t count)
{
    for (int64_t e = 0; e < count; e++)
        dtype_store(type, to, e, ldexp((double)pick(-999, 999) / 999, (int)pick(-6, 6)));
}

/* A product whose groups end at `ends`. */
static trial product_of(mtf_dtype type, int64_t rows, const int32_t *ends)
{
    const int64_t size[] = {rows, COLUMNS, TERMS};
    trial         t = trial_of(INSTR_GROUPED, 3, size);
    const access  form[] = {{.type = type, .stride = {COLUMNS, 1, 0}},
                            {.type = type, .stride = {TERMS, 0, 1}},
                            {.type = type, .stride = {0, 1, COLUMNS}},
                            {.type = MTF_I32}};
    const int64_t count[] = {rows * COLUMNS, rows * TERMS, GROUPS * TERMS * COLUMNS, GROUPS};
    for (int o = 0; o < 4; o++) {
        access *to = add_operand(&t, form[o].type, count[o], o == 0);
        memcpy(to->stride, form[o].stride, sizeof to->stride);
    }
    memcpy(t.memory[3], ends, GROUPS * sizeof *ends);
    t.i.grouped =
        (grouped_args){.groups = GROUPS, .group_stride = TERMS * COLUMNS, .ends_stride = 1};
    return t;
}

/* Runs it with the given row at `at` and the given weights, and copies that row of the result. */
static void run_with(trial *t, const void *row, int64_t at, const void *weights, void *result)
{
    size_t bytes = mtf_dtype_bytes(t->operands[1].type);
    fill_widely(t->operands[1].type, t->memory[1], t->count[1]);
    memcpy((char *)t->memory[1] + (size_t)at * TERMS * bytes, row, TERMS * bytes);
    memcpy(t->memory[2], weights, (size_t)t->count[2] * bytes);
    run_once(t, kernel_grouped, 1, 1 + (int)(at % 3));
    memcpy(result, (char *)t->memory[0] + (size_t)at * COLUMNS * bytes, COLUMNS * bytes);
}

static void test_rows_stand_alone(void **state)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16, MTF_F16, MTF_F64};
    static const struct {
        int64_t rows, at;
        int32_t ends[GROUPS];
    } places[] = {{1, 0, {0, 1, 1}},
                  {2, 1, {1, 2, 2}},
                  {9, 4, {3, 8, 9}},
                  {130, 129, {0, 130, 130}},
                  {1100, 511, {3, 700, 900}},
                  {1100, 512, {512, 513, 1100}},
                  {1100, 1099, {0, 1100, 2000}}};
    static double row[TERMS], weights[GROUPS * TERMS * COLUMNS], first[COLUMNS], other[COLUMNS];
    (void)state;
    seed_state = 17;
    for (int k = 0; k < 4; k++) {
        fill_widely(types[k], row, TERMS);
        fill_widely(types[k], weights, GROUPS * TERMS * COLUMNS);
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            trial t = product_of(types[k], places[p].rows, places[p].ends);
            run_with(&t, row, places[p].at, weights, p ? other : first);
            if (p) assert_memory_equal(first, other, COLUMNS * mtf_dtype_bytes(types[k]));
            trial_free(&t);
        }
    }
}

/* What a sum in double says, within what f32 may round. */
static void test_rows_are_sums(void **state)
{
    static const int32_t ends[GROUPS] = {2, 2, 5};
    trial                t = product_of(MTF_F32, 7, ends);
    float                row[TERMS] = {0}, result[COLUMNS];
    float               *weights = malloc(GROUPS * TERMS * COLUMNS * sizeof *weights);
    (void)state;
    fill_widely(MTF_F32, weights, GROUPS * TERMS * COLUMNS);
    run_with(&t, row, 6, weights, result);
    const float *x = t.memory[1], *y = t.memory[0];
    for (int r = 0; r < 7; r++)
        for (int n = 0; n < COLUMNS; n++) {
            double sum = 0, size = 0;
            int    group = r < 2 ? 0 : r < 5 ? 2 : -1;
            for (int l = 0; l < TERMS && group >= 0; l++) {
                double term =
                    (double)x[r * TERMS + l] * (double)weights[(group * TERMS + l) * COLUMNS + n];
                sum += term, size += fabs(term);
            }
            assert_true(fabs((double)y[r * COLUMNS + n] - sum) <= 1e-6 * size);
        }
    free(weights);
    trial_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_stand_alone),
                                       cmocka_unit_test(test_rows_are_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
