/* Folds as kernels, against the CPU. */
#include "machine/gpu_trial.h"

static gpu_trials list;

enum { MOST_ELEMENTS = 3000 };

/* Loops 0 .. nkept-1 are kept. */
static void add_fold(fold_kind kind, mtf_dtype type, int nkept, int n, const int64_t *size,
                     bool plain)
{
    bool    positions = kind == FOLD_ARGMAX || kind == FOLD_ARGMIN;
    trial   t = trial_of(INSTR_FOLD, n, size);
    access  in = {.type = type}, out = {.type = positions ? MTF_I32 : type};
    int64_t out_count = gpu_lay_out(nkept, size, plain, &out);
    int64_t in_count = gpu_lay_out(n, size, plain, &in);
    if (!positions && type == MTF_BF16 && chance(2)) out.type = MTF_F32;
    if (!plain && n > 0 && chance(6)) in.stride[pick(0, n - 1)] = 0;
    t.i.fold = (fold_args){kind, nkept};
    gpu_operand(&t, &out, out_count, true);
    gpu_operand(&t, &in, in_count, false);
    if (kind != FOLD_SUM && kind != FOLD_PROD) gpu_make_wild(type, t.memory[1], in_count);
    if (kind == FOLD_PROD && is_float(type)) /* no long products of large numbers */
        for (int64_t k = 0; k < in_count; k++)
            dtype_store(type, t.memory[1], k, chance(2) ? 1.0 : chance(2) ? -1.0 : 0.5);
    gpu_trials_add(&list, t);
}

static void add_random(int round)
{
    int64_t size[4], all = 1;
    int     n = (int)pick(1, 4), nkept = (int)pick(0, n);
    for (int l = 0; l < n; l++) {
        size[l] = chance(8) ? 1 : pick(1, 40);
        while (all * size[l] > MOST_ELEMENTS) size[l] = (size[l] + 1) / 2;
        all *= size[l];
    }
    if (round % 25 == 0) size[pick(0, n - 1)] = 0;
    add_fold((fold_kind)(round % 6), all_types[pick(0, ARITHMETIC_TYPES - 1)], nkept, n, size,
             chance(3));
}

static void run(void)
{
    list.allowed[MTF_F32] = 1e-5;
    list.allowed[MTF_F64] = 1e-13;
    gpu_trials_run(&list, kernel_fold);
}

static void test_random_folds(void **state)
{
    (void)state;
    seed_state = 41;
    gpu_trials_start(&list, 1);
    for (int round = 0; round < asked_much(110, 25); round++) add_random(round);
    run();
}

/* Sizes that take every way through: rows by threads, warps, blocks and chunks; columns. */
static void test_all_ways(void **state)
{
    static const struct {
        int64_t kept, reduced;
    } rows[] = {{1, 9000}, {3, 5003}, {2, 40000}, {700, 3}, {9, 100}, {5, 700}, {40, 16}};
    (void)state;
    seed_state = 42;
    gpu_trials_start(&list, 1);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int kind = FOLD_SUM; kind <= FOLD_ARGMIN; kind++) {
            if (((int)k + kind) % asked_much(1, 4)) continue;
            mtf_dtype type = all_types[((int)k + kind) % ARITHMETIC_TYPES];
            add_fold((fold_kind)kind, type, 1, 2, (int64_t[]){rows[k].kept, rows[k].reduced}, true);
            /* the kept loop last in memory */
            int64_t kept = rows[k].reduced > 1000 ? 48 : rows[k].reduced;
            int64_t reduced = rows[k].kept * 40;
            add_fold((fold_kind)kind, type, 1, 2, (int64_t[]){kept, reduced}, true);
            trial *t = &list.trial[list.n - 1];
            t->operands[1].stride[0] = 1;
            t->operands[1].stride[1] = kept;
        }
    run();
    assert_int_equal(list.launches, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_folds),
        cmocka_unit_test(test_all_ways),
    };
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
