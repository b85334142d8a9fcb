/* Random numbers as kernels: those of the CPU. */
#include "machine/gpu_trial.h"

static gpu_trials list;

static const struct {
    double low, high;
} bounds[] = {{0, 1},
              {-5, 11},
              {0.996, 1},
              {-1e-7, 0},
              {3, 3},
              {7, -2},
              {-0x1p63, 0x1p63},
              {-2.5e9, 2.5e9},
              /* of so few numbers, some are rounded to the upper bound */
              {1 - 0x1p-22, 1},
              {1 - 0x1p-51, 1}};

/* Weights of a whole tensor in the order of the loops, or in any order. */
static trial *add_draw(draw_kind kind, mtf_dtype type, const int64_t *size, bool plain)
{
    trial   t = trial_of(INSTR_DRAW, 3, size);
    access  out = {.type = type}, index = {.type = type};
    int64_t count = gpu_lay_out(3, size, plain, &out);
    gpu_lay_out(3, size, plain || chance(2), &index);
    int which = (int)pick(0, sizeof bounds / sizeof *bounds - 1);
    t.i.draw = (draw_args){.kind = kind,
                           .key = (uint32_t)random_bits(),
                           .first = plain ? 8 : pick(0, 999),
                           .a = bounds[which].low,
                           .b = bounds[which].high};
    for (int l = 0; l < 3; l++) t.i.draw.weight[l] = llabs(index.stride[l]);
    if (type == MTF_BOOL) t.i.draw.b = 0.3;
    if (kind != DRAW_UNIFORM) t.i.draw.a = 0.75, t.i.draw.b = 2.5;
    t.run.seed = random_bits();
    t.run.step = (uint32_t)pick(0, 1 << 20);
    gpu_operand(&t, &out, count, true);
    for (int k = 0, loops = (int)pick(0, 3); k < loops; k++) {
        add_operand(&t, MTF_I32, 1, false);
        *(int32_t *)t.memory[1 + k] =
            (int32_t)(chance(2) ? pick(0, 900) : pick(1 << 24, INT32_MAX));
    }
    return gpu_trials_add(&list, t);
}

static void add_draws(int rounds, bool uniform)
{
    for (int round = 0; round < rounds; round++) {
        mtf_dtype type = all_types[round % ARITHMETIC_TYPES];
        bool      plain = round % 2;
        int64_t   size[3] = {pick(1, 5), pick(1, 7), plain ? 4 * pick(1, 20) : pick(1, 50)};
        if (round % 21 == 0) size[2] = 601;
        if (uniform)
            add_draw(DRAW_UNIFORM, type, size, plain);
        else if (is_float(type))
            add_draw(round / ARITHMETIC_TYPES % 4 < 2 ? DRAW_NORMAL : DRAW_TRUNCATED_NORMAL, type,
                     size, plain);
    }
}

static void test_uniform_numbers(void **state)
{
    (void)state;
    seed_state = 81;
    gpu_trials_start(&list, 1);
    for (int d = 0; d < ARITHMETIC_TYPES; d++) list.allowed[d] = 0;
    add_draws(84, true);
    for (int round = 0; round < 14; round++) { /* a whole tensor's indices beyond 2^32 */
        trial *t =
            add_draw(DRAW_UNIFORM, all_types[round % ARITHMETIC_TYPES], (int64_t[]){3, 2, 8}, true);
        t->i.draw.weight[0] = (int64_t)1 << 33;
        t->i.draw.first = ((int64_t)1 << 40) + (round < 7 ? 4 : 1);
    }
    gpu_trials_run(&list, kernel_draw);
}

/* A GPU's functions of f64 may differ in the last bits; the emulated one's are the CPU's. */
static void test_normal_numbers(void **state)
{
    (void)state;
    seed_state = 82;
    gpu_trials_start(&list, 1);
    for (int d = 0; d < ARITHMETIC_TYPES && !gpu.is_real; d++) list.allowed[d] = 0;
    if (gpu.is_real) list.allowed[MTF_F64] = 1e-12;
    add_draws(84, false);
    gpu_trials_run(&list, kernel_draw);
}

/* Variables that differ in keys, sizes and bounds share a kernel; every third is that of wide indices. */
static void test_variables_share_kernels(void **state)
{
    static const draw_kind kinds[] = {DRAW_UNIFORM, DRAW_NORMAL, DRAW_TRUNCATED_NORMAL};
    (void)state;
    seed_state = 83;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        gpu_trials_start(&list, 1);
        for (int round = 0; round < 12; round++) {
            int64_t size[3] = {pick(1, 5), pick(1, 7), 4 * pick(1, 20)};
            trial  *t = add_draw(kinds[k], MTF_F32, size, true);
            while (t->noperands > 1) free(t->memory[--t->noperands]); /* outside of loops */
            t->i.draw.a = 0.25 * (double)pick(-8, 8);
            t->i.draw.b = t->i.draw.a + 0.25 * (double)pick(1, 8);
        }
        int n = list.n;
        gpu_trials_run(&list, kernel_draw);
        for (int r = 3; r < n; r++)
            assert_string_equal(list.plan[r].launch[0].name, list.plan[r % 3].launch[0].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_share_kernels),
        cmocka_unit_test(test_uniform_numbers),
        cmocka_unit_test(test_normal_numbers),
    };
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
