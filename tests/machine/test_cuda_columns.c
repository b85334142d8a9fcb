/* Maps that add up columns as kernels, against the CPU. */
#include "machine/gpu_trial.h"

static gpu_trials list;

enum { INPUTS = 2, SUM = 1 }; /* the second output */

/* The map without its sum; then what is added up, whole, and its columns. */
static void map_and_sum(const instr *i, const run_state *r)
{
    int64_t   rows = i->size[0], columns = i->size[1];
    instr     each = *i, whole = *i;
    access    place = {.buffer = MAX_OPERANDS, .type = MTF_F32, .stride = {columns, 1}};
    run_state run = *r;
    void     *base[MAX_OPERANDS + 1];
    float    *values = malloc((size_t)(rows * columns) * sizeof *values);
    for (int k = 0; k < 2 + INPUTS; k++) base[k] = r->base[k];
    base[MAX_OPERANDS] = values;
    run.base = base;
    each.nout = whole.nout = 1;
    each.map.sums = whole.map.sums = 0;
    whole.out = &place;
    whole.map.results = i->map.results + SUM;
    kernel_map(&whole, &run);
    kernel_map(&each, &run);
    for (int64_t c = 0; c < columns; c++) {
        double sum = 0;
        for (int64_t k = 0; k < rows; k++) sum += values[k * columns + c];
        dtype_store(i->out[SUM].type, base[SUM], c * i->out[SUM].stride[1] + i->out[SUM].offset,
                    sum);
    }
    free(values);
}

/* y = f(x, one value per row), with so many folds, and the sum of a step's columns. */
static void add_map(mtf_dtype type, int folds, int64_t rows, int64_t columns, bool plain)
{
    static const scalar_step steps[] = {
        {.fn = FN_multiply, .type = MTF_F32, .a = 0, .b = 1},
        {.fn = FN_CAST, .type = MTF_BF16, .from = MTF_F32, .a = 2},
        {.fn = FN_ROW_SUM, .type = MTF_F32, .a = 3},
        {.fn = FN_IMMEDIATE, .type = MTF_F32, .value = {.real = 0.0078125}},
        {.fn = FN_multiply, .type = MTF_F32, .a = 4, .b = 5},
        {.fn = FN_sub, .type = MTF_F32, .a = 3, .b = 6},
        {.fn = FN_square, .type = MTF_F32, .a = 7},
        {.fn = FN_ROW_SUM, .type = MTF_F32, .a = 8},
        {.fn = FN_multiply, .type = MTF_F32, .a = 9, .b = 5},
        {.fn = FN_sub, .type = MTF_F32, .a = 7, .b = 10},
    };
    static const int counts[] = {2, 6, 10}, results[3][2] = {{2, 3}, {7, 3}, {11, 3}};
    int64_t          size[] = {rows, columns};
    trial            t = trial_of(INSTR_MAP, 2, size);
    access  y = {.type = type}, x = {.type = type}, sum = {.type = chance(2) ? type : MTF_F32};
    access  each = {.type = MTF_F32, .stride = {1, 0}};
    int64_t y_count = gpu_lay_out(2, size, plain, &y), x_count = gpu_lay_out(2, size, plain, &x);
    sum.stride[1] = plain ? 1 : 2;
    t.i.map = (map_args){.nsteps = counts[folds],
                         .steps = steps,
                         .results = results[folds],
                         .nrow = 1,
                         .sums = 1u << SUM};
    gpu_operand(&t, &y, y_count, true);
    gpu_operand(&t, &sum, columns * 2, true);
    gpu_operand(&t, &x, x_count, false);
    gpu_operand(&t, &each, rows, false);
    gpu_trials_add(&list, t);
}

static void run(void)
{
    list.allowed[MTF_F32] = 1e-5;
    gpu_trials_run(&list, map_and_sum);
    assert_int_equal(list.launches, 2);
}

static void test_random_sizes(void **state)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16, MTF_F16};
    (void)state;
    seed_state = 51;
    gpu_trials_start(&list, 2);
    for (int round = 0; round < 40; round++)
        add_map(types[round % 3], (int)pick(0, 2), pick(1, 120), pick(2, 90), chance(2));
    run();
}

/* Rows by some threads, by warps and by blocks; more rows than groups of threads; long rows. */
static void test_all_ways(void **state)
{
    static const int64_t sizes[][2] = {{5000, 8},    {4500, 40}, {2300, 256}, {64, 768},
                                       {40, 3072},   {33, 4095}, {2201, 768}, {1100, 520},
                                       {1057, 4160}, {9000, 3}};
    (void)state;
    seed_state = 52;
    gpu_trials_start(&list, 2);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int folds = 0; folds < 3; folds++)
            add_map(k % 2 ? MTF_F32 : MTF_BF16, folds, sizes[k][0], sizes[k][1], true);
    run();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_sizes),
        cmocka_unit_test(test_all_ways),
    };
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
