/* Running sums as kernels, against the CPU. */
#include "machine/gpu_trial.h"

static gpu_trials list;

/* Dimension 2 is the one summed along. */
static void add_scan(const int64_t *size, bool plain, mtf_dtype type)
{
    trial   t = trial_of(INSTR_SCAN, 2, size);
    access  out = {.type = type}, in = {.type = type};
    int64_t out_count = gpu_lay_out(3, size, plain, &out);
    int64_t in_count = gpu_lay_out(3, size, plain, &in);
    t.i.scan = (scan_args){.along = size[2],
                           .in_stride = in.stride[2],
                           .out_stride = out.stride[2],
                           .exclusive = chance(2),
                           .reverse = chance(2)};
    in.stride[2] = out.stride[2] = 0;
    gpu_operand(&t, &out, out_count, true);
    gpu_operand(&t, &in, in_count, false);
    gpu_trials_add(&list, t);
}

static void test_scans(void **state)
{
    (void)state;
    seed_state = 61;
    gpu_trials_start(&list, 1);
    for (int round = 0; round < asked_much(100, 30); round++) {
        int64_t size[3] = {pick(1, 9), pick(1, 9), chance(3) ? pick(1, 9) : pick(1, 200)};
        if (round % 10 == 9) size[0] = 1, size[2] = pick(250, 2500);
        if (round % 25 == 0) size[pick(0, 2)] = 0;
        add_scan(size, chance(2), all_types[round % ARITHMETIC_TYPES]);
    }
    for (int k = 0; k < ARITHMETIC_TYPES; k += asked_much(1, 3)) /* in chunks */
        add_scan((int64_t[]){1, 2, 9000 + k}, true, all_types[k]);
    gpu_trials_run(&list, kernel_scan);
    assert_int_equal(list.launches, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scans)};
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
