/* Maps of long rows as kernels, against the CPU: sums that are made with a maximum. */
#include "machine/gpu_trial.h"
#include "cuda/write/map_passes.h"

static gpu_trials list;

enum { OUTPUTS = 3, X = 0, ROWS = 9 };

/* e^(x - m) over its sum, m and the sum, where m is the maximum of x, or that between limits. */
static void add_softmax(mtf_dtype type, int64_t columns, bool limits)
{
    static const scalar_step plain[] = {
        {.fn = FN_ROW_MAX, .type = MTF_F32, .a = X},
        {.fn = FN_sub, .type = MTF_F32, .a = X, .b = 1},
        {.fn = FN_exp, .type = MTF_F32, .a = 2},
        {.fn = FN_ROW_SUM, .type = MTF_F32, .a = 3},
        {.fn = FN_divide, .type = MTF_F32, .a = 3, .b = 4},
    };
    static const scalar_step limited[] = {
        {.fn = FN_ROW_MAX, .type = MTF_F32, .a = X},
        {.fn = FN_IMMEDIATE, .type = MTF_F32, .value = {.real = -1e38}},
        {.fn = FN_maximum, .type = MTF_F32, .a = 2, .b = 1},
        {.fn = FN_IMMEDIATE, .type = MTF_F32, .value = {.real = 1e38}},
        {.fn = FN_minimum, .type = MTF_F32, .a = 3, .b = 4},
        {.fn = FN_sub, .type = MTF_F32, .a = X, .b = 5},
        {.fn = FN_exp, .type = MTF_F32, .a = 6},
        {.fn = FN_ROW_SUM, .type = MTF_F32, .a = 7},
        {.fn = FN_divide, .type = MTF_F32, .a = 7, .b = 8},
    };
    static const int results[2][OUTPUTS] = {{5, 1, 4}, {9, 5, 8}};
    int64_t          size[] = {ROWS, columns};
    trial            t = trial_of(INSTR_MAP, 2, size);
    access x = {.type = type, .stride = {columns, 1}}, row = {.type = MTF_F32, .stride = {1}};
    t.i.map = (map_args){.nsteps = limits ? 9 : 5,
                         .steps = limits ? limited : plain,
                         .results = results[limits],
                         .nrow = 1};
    gpu_operand(&t, &x, ROWS * columns, true);
    gpu_operand(&t, &row, ROWS, true);
    gpu_operand(&t, &row, ROWS, true);
    gpu_operand(&t, &x, ROWS * columns, false);
    gpu_trials_add(&list, t);
}

/* Ordinary rows; rising and falling ones; -infinity in parts and throughout; infinity; NaN. */
static double value(int64_t row, int64_t k, int64_t columns)
{
    double some = (double)(pick(0, 4000)) / 100 - 20;
    switch (row) {
    case 1: return (double)k / 100;
    case 2: return -(double)k / 100;
    case 3: return k % 3 ? -INFINITY : some;
    case 4: return k < columns - 5 ? -INFINITY : some;
    case 5: return -INFINITY;
    case 6: return k == columns / 2 ? INFINITY : some;
    case 7: return k == 17 ? (double)NAN : some;
    case 8: return k < columns / 2 ? -3e38 : 3e38;
    default: return some;
    }
}

static void fill_rows(trial *t)
{
    int64_t columns = t->i.size[1];
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t k = 0; k < columns; k++)
            dtype_store(t->operands[OUTPUTS].type, t->memory[OUTPUTS], row * columns + k,
                        value(row, k, columns));
}

static void test_one_pass_gives_what_two_give(void **state)
{
    static const int64_t columns[] = {33000, 40001, 50304};
    (void)state;
    seed_state = 61;
    gpu_trials_start(&list, OUTPUTS);
    list.allowed[MTF_F32] = 1e-5;
    for (int k = 0; k < asked_much(3, 1); k++)
        for (int limits = 0; limits < 2; limits++)
            for (int type = 0; type < 2; type++)
                add_softmax(type ? MTF_BF16 : MTF_F32, columns[k], limits);
    for (int k = 0; k < list.n; k++) fill_rows(&list.trial[k]);
    gpu_trials_run(&list, kernel_map);
}

/* The sum is in the pass of the maximum: the second pass is the one that divides. */
static void test_rows_are_read_twice(void **state)
{
    (void)state;
    gpu_trials_start(&list, OUTPUTS);
    add_softmax(MTF_BF16, 50304, true);
    kernel_source s = kernel_source_for(&gpu.session->arena, gpu.session);
    trial        *t = &list.trial[0];
    int           loops = 0;
    t->i.out = t->operands, t->i.nout = OUTPUTS;
    t->i.in = t->operands + OUTPUTS, t->i.nin = 1;
    assert_true(write_map(&s, &t->i, &list.plan[0]));
    for (const char *at = kernel_source_text(&s); (at = strstr(at, "load_words")); at++) loops++;
    assert_int_equal(loops, 2);
    trial_free(t);
}

/* A position names a loop, which is not a register.  The address sanitizer sees what is read besides. */
static void test_positions_are_no_registers(void **state)
{
    static const scalar_step said[] = {
        {.fn = FN_INDEX, .type = MTF_F32, .a = 2},
        {.fn = FN_ROW_MAX, .type = MTF_F32, .a = 0},
    };
    scalar_step *steps = malloc(sizeof said);
    int          result = 1;
    access       out = {.type = MTF_F32, .stride = {2, 1}};
    instr        i = {.kind = INSTR_MAP, .nout = 1, .out = &out, .nloops = 3, .size = {2, 2, 8}};
    (void)state;
    assert_non_null(steps);
    memcpy(steps, said, sizeof said);
    i.map = (map_args){.nsteps = 2, .steps = steps, .results = &result, .nrow = 1};
    map_passes p = map_passes_of(&i, true);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.top[1], 0);
    free(steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions_are_no_registers),
        cmocka_unit_test(test_one_pass_gives_what_two_give),
        cmocka_unit_test(test_rows_are_read_twice),
    };
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
