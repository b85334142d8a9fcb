/* Grouped products on a GPU, against the CPU. */
#include "machine/gpu_trial.h"

static gpu_trials list;

/* How operands lie: anyhow; with the dimensions in their order; or as tensor cores want them, a factor of
 * groups with k last, or n. */
typedef enum how { ANYHOW, PLAIN, K_LAST, N_LAST } how;

/* An operand over some of the dimensions batch, row, n, k, group and end, which are 0 to 5. */
static int64_t lay_out_over(const int64_t *size, unsigned dims, how h, access *a)
{
    static const int order[2][6] = {{0, 1, 4, 2, 3, 5}, {0, 1, 4, 3, 2, 5}};
    int64_t          own[6], count;
    for (int d = 0; d < 6; d++) own[d] = dims >> d & 1 ? size[d] : 1;
    if (h >= K_LAST)
        count = lay_out(6, order[h == N_LAST], own, 0, a->stride);
    else
        count = gpu_lay_out(6, own, h == PLAIN, a);
    for (int d = 0; d < 6; d++)
        if (!(dims >> d & 1)) a->stride[d] = 0;
    return count;
}

/* size: of the batch, the rows, n, k and the groups here; then of all groups that ends are read of.  `joined`: a
 * group has the same factor for the whole batch. */
static void add_grouped_of(mtf_dtype type, const int64_t *size, bool sums, how plain, bool joined)
{
    trial    t = trial_of(INSTR_GROUPED, 4, size);
    access   x = {.type = type}, y = {.type = type}, c = {.type = type}, ends = {.type = MTF_I32};
    bool     batch = chance(2); /* of a result that sums; or it adds up along the batch */
    unsigned result = sums ? (batch ? 1u : 0) | 4 | 8 | 16 : 1 | 2 | 4;
    int64_t  counts[4] = {
         lay_out_over(size, result, plain, &c), lay_out_over(size, 1 | 2 | 8, plain, &x),
         lay_out_over(size, sums ? 1 | 2 | 4 : (joined ? 0u : 1) | 4 | 8 | 16, plain, &y),
         lay_out_over(size, 1 | 32, PLAIN, &ends)};
    for (int d = 4; d < 6; d++) x.stride[d] = 0;
    t.i.grouped = (grouped_args){.sums = sums,
                                 .first_row = pick(0, 2),
                                 .groups = size[4],
                                 .group_stride = sums ? c.stride[4] : y.stride[4],
                                 .first_group = size[5] - size[4],
                                 .ends_stride = ends.stride[5]};
    gpu_operand(&t, &c, counts[0], true);
    gpu_operand(&t, &x, counts[1], false);
    gpu_operand(&t, &y, counts[2], false);
    gpu_operand(&t, &ends, counts[3], false);
    for (int o = 1; o < 3; o++) /* sums of few digits */
        for (int64_t e = 0; e < counts[o]; e++)
            dtype_store(type, t.memory[o], e, (double)pick(-8, 8) / 8);
    bool sorted = !chance(4);
    for (int64_t e = 0; e < counts[3]; e++) {
        int64_t g = e % size[5], even = size[1] * (g + 1) / size[5];
        dtype_store(MTF_I32, t.memory[3], e, (double)(sorted ? even : pick(-2, size[1] + 4)));
    }
    gpu_trials_add(&list, t);
}

static void add_grouped(mtf_dtype type, const int64_t *size, bool sums, how plain)
{
    add_grouped_of(type, size, sums, plain, false);
}

static void test_grouped(void **state)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16, MTF_F16, MTF_F64};
    (void)state;
    seed_state = 71;
    gpu_trials_start(&list, 1);
    for (int round = 0; round < 60; round++) {
        int64_t groups = pick(1, 5);
        add_grouped(types[round % 4],
                    (int64_t[]){pick(1, 3), pick(1, 40), pick(1, 20), pick(1, 20), groups,
                                groups + pick(0, 2)},
                    round % 2, chance(2) ? PLAIN : ANYHOW);
    }
    for (int round = 0; round < 24; round++) { /* by tensor cores */
        int64_t groups = pick(1, 5), rows = pick(1, round < 16 ? 90 : 400);
        add_grouped(types[1 + round % 2],
                    (int64_t[]){pick(1, 2), rows, 8 * pick(1, 20), 8 * pick(1, 14), groups,
                                groups + pick(0, round % 8 == 7 ? 70 : 2)},
                    round / 2 % 2, round / 4 % 2 ? K_LAST : N_LAST);
    }
    for (int sums = 0; sums < 2; sums++) {
        add_grouped(MTF_F32, (int64_t[]){2, 150, 70, 33, 2, 3}, sums, PLAIN);
        add_grouped(MTF_BF16, (int64_t[]){1, 70, 40, 80, 3, 3}, sums, ANYHOW);
        add_grouped(MTF_F32, (int64_t[]){1, 9, 17, 5, 40, 40}, sums, PLAIN);
    }
    gpu_trials_run(&list, kernel_grouped);
    assert_int_equal(list.launches, 1);
}

/* Groups with as many rows as large tiles want, in one sequence or in several. */
static void many_rows(int rounds)
{
    static const mtf_dtype types[] = {MTF_BF16, MTF_F16};
    gpu_trials_start(&list, 1);
    for (int round = 0; round < rounds; round++) {
        int64_t groups = pick(1, 5), batch = pick(1, 6), rows = 96 * groups / batch + pick(1, 90);
        add_grouped_of(types[round % 2],
                       (int64_t[]){batch, rows, 8 * pick(8, round % 8 == 7 ? 38 : 20),
                                   8 * pick(1, round % 8 == 6 ? 60 : 14), groups,
                                   groups + pick(0, round % 8 == 5 ? 40 : 2)},
                       round / 2 % 2, round / 4 % 2 ? K_LAST : N_LAST, round % 3 > 0);
    }
    gpu_trials_run(&list, kernel_grouped);
}

static void test_many_rows(void **state)
{
    (void)state;
    seed_state = 72;
    many_rows(16);
    assert_int_equal(list.launches, 2);
}

/* GPUs whose blocks have less shared memory have fewer tiles on their way, or other kernels. */
static void test_little_memory(void **state)
{
    int whole = gpu.session->can.shared_bytes;
    (void)state;
    seed_state = 73;
    gpu.session->can.shared_bytes = 163 << 10;
    many_rows(6);
    assert_int_equal(list.launches, 2);
    gpu.session->can.shared_bytes = 99 << 10;
    many_rows(2);
    assert_int_equal(list.launches, 1);
    gpu.session->can.shared_bytes = whole;
}

/* A product of `rows` rows in one group, whose first rows are the same for any number of them. */
enum { BITS_N = 128, BITS_K = 512, FEW_ROWS = 20, MANY_ROWS = 200 };
static void *multiply_rows(mtf_dtype type, int64_t rows)
{
    const int64_t size[] = {rows, BITS_N, BITS_K};
    trial         t = trial_of(INSTR_GROUPED, 3, size);
    const access  c = {.type = type, .stride = {BITS_N, 1, 0}},
                 x = {.type = type, .stride = {BITS_K, 0, 1}},
                 y = {.type = type, .stride = {0, 1, BITS_N}}, ends = {.type = MTF_I32};
    const int64_t counts[] = {rows * BITS_N, rows * BITS_K, BITS_N * BITS_K, 1};
    const access *of[] = {&c, &x, &y, &ends};
    kernel_source s = kernel_source_for(&gpu.session->arena, gpu.session);
    kernel_plan   plan = {0};
    void         *base[4];
    t.i.grouped = (grouped_args){.groups = 1, .group_stride = counts[2], .ends_stride = 1};
    for (int o = 0; o < 4; o++) gpu_operand(&t, of[o], counts[o], o == 0);
    for (int o = 1; o < 3; o++) {
        seed_state = 7 + (uint64_t)o;
        for (int64_t e = 0; e < counts[o]; e++)
            dtype_store(type, t.memory[o], e,
                        ldexp((double)pick(-4096, 4096), (int)pick(-16, -10)));
    }
    dtype_store(MTF_I32, t.memory[3], 0, (double)rows);
    t.i.out = t.operands, t.i.nout = 1, t.i.in = t.operands + 1, t.i.nin = 3;
    assert_true(kernel_writer_of(INSTR_GROUPED)(&s, &t.i, &plan));
    assert_int_equal(plan.nlaunches, rows == FEW_ROWS ? 1 : 2);
    host_gpu_load(&gpu, kernel_source_text(&s));
    for (int o = 0; o < 4; o++) {
        size_t bytes = (size_t)t.count[o] * mtf_dtype_bytes(t.operands[o].type);
        base[o] = host_gpu_take(&gpu, bytes);
        host_gpu_put(&gpu, base[o], t.memory[o], bytes);
    }
    host_gpu_run(&gpu, &t.i, &plan, base, (step_words){.seed = 1});
    void *result = malloc(FEW_ROWS * BITS_N * 2);
    host_gpu_get(&gpu, result, base[0], FEW_ROWS * BITS_N * 2);
    for (int o = 0; o < 4; o++) host_gpu_give(&gpu, base[o]);
    trial_free(&t);
    return result;
}

/* A row's bits do not depend on how many others there are, though kernels do. */
static void test_same_bits(void **state)
{
    static const mtf_dtype types[] = {MTF_BF16, MTF_F16};
    (void)state;
    for (int k = 0; k < 2; k++) {
        void *few = multiply_rows(types[k], FEW_ROWS), *many = multiply_rows(types[k], MANY_ROWS);
        assert_memory_equal(few, many, FEW_ROWS * BITS_N * 2);
        free(few);
        free(many);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grouped), cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_little_memory), cmocka_unit_test(test_same_bits)};
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
