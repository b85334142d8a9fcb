/* The best of the most probable, on a GPU, against the CPU. */
#include "machine/gpu_trial.h"

static gpu_trials list;

/* Dimension 2 is the one along which elements are chosen. */
static void add_nucleus(const int64_t *size, bool plain, int few_values)
{
    trial   t = trial_of(INSTR_NUCLEUS, 2, size);
    access  score = {.type = MTF_F32}, logit = {.type = MTF_F32};
    access  k = {.type = MTF_I32}, p = {.type = MTF_F32}, out = {.type = MTF_I32};
    int64_t counts[5] = {gpu_lay_out(2, size, plain, &out), gpu_lay_out(3, size, plain, &score),
                         gpu_lay_out(3, size, plain, &logit), gpu_lay_out(2, size, plain, &k),
                         gpu_lay_out(2, size, plain, &p)};
    t.i.nucleus = (nucleus_args){size[2], score.stride[2], logit.stride[2]};
    score.stride[2] = logit.stride[2] = 0;
    gpu_operand(&t, &out, counts[0], true);
    gpu_operand(&t, &score, counts[1], false);
    gpu_operand(&t, &logit, counts[2], false);
    gpu_operand(&t, &k, counts[3], false);
    gpu_operand(&t, &p, counts[4], false);
    for (int o = 1; o <= 2 && few_values; o++) /* many equal ones */
        for (int64_t e = 0; e < counts[o]; e++)
            dtype_store(MTF_F32, t.memory[o], e, (double)pick(-few_values, few_values) / 4);
    for (int64_t e = 0; e < counts[3]; e++)
        dtype_store(MTF_I32, t.memory[3], e, chance(3) ? 0 : (double)pick(1, size[2] + 2));
    for (int64_t e = 0; e < counts[4]; e++)
        dtype_store(MTF_F32, t.memory[4], e,
                    chance(3) ? (double)pick(0, 1) : (double)pick(1, 997) / 1000);
    gpu_trials_add(&list, t);
}

static void test_nuclei(void **state)
{
    (void)state;
    seed_state = 93;
    gpu_trials_start(&list, 1);
    for (int round = 0; round < 40; round++)
        add_nucleus((int64_t[]){pick(1, 5), pick(1, 3), pick(1, 40)}, chance(2), (int)pick(0, 6));
    add_nucleus((int64_t[]){2, 1, 1301}, true, 0);
    add_nucleus((int64_t[]){1, 2, 2049}, true, 40);
    gpu_trials_run(&list, kernel_nucleus);
    assert_int_equal(list.launches, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nuclei)};
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
