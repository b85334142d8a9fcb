/* Copies and sums into place as kernels, against the CPU. */
#include "machine/gpu_trial.h"

static gpu_trials list;

static int64_t some_size(void)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33, 64, 97};
    return sizes[pick(0, 12)];
}

/* Sizes of at most four loops, not too many elements. */
static int some_sizes(int64_t *size, int64_t most)
{
    int     n = (int)pick(0, 4);
    int64_t all = 1;
    for (int l = 0; l < n; l++) {
        size[l] = some_size();
        while (all * size[l] > most) size[l] = (size[l] + 1) / 2;
        all *= size[l];
    }
    if (n > 0 && chance(20)) size[pick(0, n - 1)] = 0;
    if (n > 0 && chance(20)) size[0] = 256 * 17 + pick(0, 9);
    return n;
}

static void add_move(instr_kind kind, int n, const int64_t *size, mtf_dtype type)
{
    trial   t = trial_of(kind, n, size);
    access  out = {.type = type}, in = {.type = type};
    int64_t out_count = gpu_lay_out(n, size, chance(3), &out);
    int64_t in_count = gpu_lay_out(n, size, chance(3), &in);
    if (n > 0 && chance(4)) in.stride[pick(0, n - 1)] = 0;
    gpu_operand(&t, &out, out_count, kind == INSTR_MOVE);
    gpu_operand(&t, &in, in_count, false);
    gpu_trials_add(&list, t);
}

static void add_plain(instr_kind kind, int n, const int64_t *size, mtf_dtype type)
{
    trial   t = trial_of(kind, n, size);
    access  a = {.type = type};
    int64_t count = gpu_lay_out(n, size, true, &a);
    gpu_operand(&t, &a, count, kind == INSTR_MOVE);
    gpu_operand(&t, &a, count, false);
    gpu_trials_add(&list, t);
}

static void test_moves(void **state)
{
    (void)state;
    seed_state = 31;
    gpu_trials_start(&list, 1);
    for (int round = 0; round < 120; round++) {
        int64_t size[MAX_LOOPS];
        int     n = some_sizes(size, 3000);
        add_move(INSTR_MOVE, n, size, all_types[round % DTYPES]);
    }
    /* transpositions: larger than a tile */
    for (int round = 0; round < DTYPES; round++)
        add_move(INSTR_MOVE, 3, (int64_t[]){2, 67, 130}, all_types[round]);
    gpu_trials_run(&list, kernel_move);
}

/* out += in; some loops meet in one element, or overlap. */
static void add_sum(int round)
{
    int64_t   size[MAX_LOOPS];
    int       n = some_sizes(size, 3000);
    mtf_dtype type = all_types[round % ARITHMETIC_TYPES];
    add_move(INSTR_ADD_INTO, n, size, type);
    trial *t = &list.trial[list.n - 1];
    for (int l = 0; l < n; l++)
        if (round % 3 == 1 && chance(2)) t->operands[0].stride[l] = 0;
    if (round % 3 == 2 && n > 1) { /* windows that overlap: strides that are too small */
        int l = (int)pick(0, n - 1);
        t->operands[0].stride[l] = t->operands[0].stride[l] < 0 ? -1 : 1;
    }
    int64_t low = 0;
    for (int l = 0; l < n; l++)
        if (t->operands[0].stride[l] < 0 && size[l] > 0)
            low -= t->operands[0].stride[l] * (size[l] - 1);
    t->operands[0].offset = low;
}

/* So many elements that a thread moves several pieces, and some that fill no piece. */
static void test_large_moves(void **state)
{
    (void)state;
    seed_state = 33;
    for (int kind = 0; kind < 2; kind++) {
        int64_t size[2] = {(int64_t)4 * 256 * 132 * 8 * 4 + 3, 1};
        gpu_trials_start(&list, 1);
        add_plain(kind ? INSTR_ADD_INTO : INSTR_MOVE, 1, size, MTF_F32);
        add_plain(kind ? INSTR_ADD_INTO : INSTR_MOVE, 2, (int64_t[]){size[0] / 3 / 5, 5}, MTF_BF16);
        list.trial[1].operands[1].stride[1] = 0; /* element by element */
        gpu_trials_run(&list, kind ? kernel_add_into : kernel_move);
    }
}

static void test_sums_into_place(void **state)
{
    (void)state;
    seed_state = 32;
    gpu_trials_start(&list, 1);
    list.allowed[MTF_BF16] = 0.5; /* the CPU rounds after each term */
    list.allowed[MTF_F16] = 0.1;
    for (int round = 0; round < 150; round++) add_sum(round);
    gpu_trials_run(&list, kernel_add_into);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_large_moves),
        cmocka_unit_test(test_sums_into_place),
    };
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
