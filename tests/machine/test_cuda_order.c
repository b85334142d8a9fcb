/* Sorting as kernels, against the CPU. */
#include "machine/gpu_trial.h"

static gpu_trials list;

/* Dimension 2 is sorted. */
static void add_order(const int64_t *size, int64_t first, bool plain, mtf_dtype type)
{
    trial   t = trial_of(INSTR_ORDER, 2, size);
    int64_t few[3] = {size[0], size[1], first};
    access  in = {.type = type}, values = {.type = type}, indices = {.type = MTF_I32};
    int64_t in_count = gpu_lay_out(3, size, plain, &in);
    int64_t value_count = gpu_lay_out(3, few, plain, &values);
    int64_t index_count = gpu_lay_out(3, few, plain, &indices);
    t.i.order = (order_args){.along = size[2],
                             .in_stride = in.stride[2],
                             .k = first,
                             .value_stride = values.stride[2],
                             .index_stride = indices.stride[2],
                             .descending = chance(2)};
    in.stride[2] = values.stride[2] = indices.stride[2] = 0;
    gpu_operand(&t, &values, value_count, true);
    gpu_operand(&t, &indices, index_count, true);
    gpu_operand(&t, &in, in_count, false);
    gpu_make_wild(type, t.memory[2], in_count);
    if (!is_float(type) && chance(2)) /* many equal ones */
        for (int64_t k = 0; k < in_count; k++)
            dtype_store(type, t.memory[2], k, (double)pick(0, 1));
    gpu_trials_add(&list, t);
}

static void test_orders(void **state)
{
    (void)state;
    seed_state = 71;
    gpu_trials_start(&list, 2);
    for (int d = 0; d < ARITHMETIC_TYPES; d++) list.allowed[d] = 0;
    for (int round = 0; round < asked_much(70, 20); round++) {
        int64_t size[3] = {pick(1, 9), pick(1, 5), chance(2) ? pick(1, 9) : pick(1, 140)};
        if (round % 10 == 9) size[0] = 1, size[2] = pick(250, 1300);
        add_order(size, chance(3) ? size[2] : pick(1, size[2]), chance(2),
                  all_types[round % ARITHMETIC_TYPES]);
    }
    for (int k = 0; k < ARITHMETIC_TYPES; k += asked_much(1, 3)) { /* in tiles */
        int64_t size[3] = {1, 2, 4200 + k};
        add_order(size, k % 2 ? size[2] : pick(1, 40), true, all_types[k]);
    }
    gpu_trials_run(&list, kernel_order);
    assert_int_equal(list.launches, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders)};
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
