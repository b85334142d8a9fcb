/* Elements at computed indices as kernels, against the CPU. */
#include "machine/gpu_trial.h"

static gpu_trials list;

/* Loops: i0, i1 move the index, j0, j1 the data.  The table has i0 (maybe), the indexed dimension
 * and the j's; the data has everything. */
typedef struct index_case {
    int64_t   size[4], along;
    bool      batched, set, plain;
    mtf_dtype type, index_type;
} index_case;

static index_case random_case(int round)
{
    index_case c = {.along = pick(1, 9), .batched = chance(2), .set = chance(2)};
    for (int l = 0; l < 4; l++) c.size[l] = chance(4) ? 8 : pick(1, 6);
    if (chance(20)) c.size[pick(0, 3)] = 0;
    c.plain = chance(2);
    c.type = all_types[round % ARITHMETIC_TYPES];
    c.index_type = chance(2) ? MTF_I32 : MTF_I64;
    return c;
}

static void add_case(const index_case *c, bool scatter)
{
    trial  t = trial_of(scatter ? INSTR_SCATTER : INSTR_GATHER, 4, c->size);
    access table = {.type = c->type}, data = {.type = c->type}, index = {.type = c->index_type};
    /* dimension 1 of the table is the indexed one */
    int64_t table_size[4] = {c->batched ? c->size[0] : 1, c->along, c->size[2], c->size[3]};
    int64_t table_count = gpu_lay_out(4, table_size, c->plain, &table);
    int64_t data_count = gpu_lay_out(4, c->size, c->plain, &data);
    int64_t index_count = gpu_lay_out(2, c->size, c->plain, &index);
    t.i.gather = (gather_args){
        .nindex = 2, .along = c->along, .along_stride = table.stride[1], .set = c->set};
    table.stride[1] = 0;
    if (!c->batched) table.stride[0] = 0;
    gpu_operand(&t, scatter ? &table : &data, scatter ? table_count : data_count, !scatter);
    gpu_operand(&t, scatter ? &data : &table, scatter ? data_count : table_count, false);
    gpu_operand(&t, &index, index_count, false);
    for (int64_t k = 0; k < index_count; k++)
        dtype_store(c->index_type, t.memory[2], k, (double)pick(chance(5) ? -2 : 0, c->along));
    gpu_trials_add(&list, t);
}

static void test_gathers(void **state)
{
    (void)state;
    seed_state = 51;
    gpu_trials_start(&list, 1);
    for (int round = 0; round < 70; round++) {
        index_case c = random_case(round);
        if (round % 10 == 9) c.size[3] = 257, c.size[1] = 67;
        add_case(&c, false);
    }
    /* so many elements that a thread takes several pieces */
    index_case large = {.size = {1, 70001, 1, 64},
                        .along = 30,
                        .plain = true,
                        .type = MTF_F32,
                        .index_type = MTF_I32};
    add_case(&large, false);
    gpu_trials_run(&list, kernel_gather);
}

static void allow_rounding(void)
{
    list.allowed[MTF_F32] = 1e-5;
    list.allowed[MTF_BF16] = 0.5; /* the CPU rounds after each term, and loses small ones */
    list.allowed[MTF_F16] = 0.1;
}

static void test_scatters(void **state)
{
    (void)state;
    seed_state = 52;
    gpu_trials_start(&list, 1);
    allow_rounding();
    for (int round = 0; round < 70; round++) {
        index_case c = random_case(round);
        add_case(&c, true);
    }
    gpu_trials_run(&list, kernel_scatter);
}

/* So many places that they are sorted: in one tile and in several, with long and short runs. */
static void test_sorted_scatters(void **state)
{
    (void)state;
    seed_state = 53;
    gpu_trials_start(&list, 1);
    allow_rounding();
    list.allowed[MTF_BF16] = list.allowed[MTF_F16] = 1e9; /* next test */
    for (int round = 0; round < 28; round++) {
        index_case c = random_case(round);
        bool       many = round % 5 == 4;
        c.size[0] = pick(1, 3);
        c.size[1] = many ? 4500 + pick(0, 99) : 600 + pick(0, 200);
        c.size[2] = pick(1, 2);
        c.size[3] = many ? 1 : chance(2) ? 8 : pick(1, 5);
        c.along = chance(3) ? 2 : chance(2) ? 40 : 3000;
        c.set = round % 3 == 0;
        add_case(&c, true);
    }
    gpu_trials_run(&list, kernel_scatter);
    assert_int_equal(list.launches, 4);
}

/* Tiles that are joined in one, two and three passes. */
static void test_many_tiles(void **state)
{
    (void)state;
    static const int64_t places[] = {2049, 8 * 2048, 8 * 2048 + 1, 64 * 2048 + 77};
    for (int k = 0; k < 4; k++) {
        index_case c = {.size = {1, places[k], 1, 1},
                        .along = k == 3 ? 70000 : 3000,
                        .plain = true,
                        .type = MTF_I32,
                        .index_type = MTF_I32};
        seed_state = 56;
        gpu_trials_start(&list, 1);
        add_case(&c, true);
        c.set = true;
        add_case(&c, true);
        gpu_trials_run(&list, kernel_scatter);
        assert_int_equal(list.launches, k < 2 ? 4 : k < 3 ? 5 : 6);
    }
}

/* Sums of short floats are rounded once: so are those of the CPU if they are exact. */
static void test_short_floats_are_rounded_once(void **state)
{
    (void)state;
    seed_state = 54;
    gpu_trials_start(&list, 1);
    list.allowed[MTF_BF16] = list.allowed[MTF_F16] = 0;
    for (int round = 0; round < 4; round++) {
        index_case c = {.size = {1, 900, 1, 8}, .along = 70, .plain = true, .index_type = MTF_I32};
        c.type = round % 2 ? MTF_BF16 : MTF_F16;
        c.set = round / 2;
        add_case(&c, true);
        trial *t = &list.trial[list.n - 1];
        for (int o = 0; o < 2; o++)
            for (int64_t k = 0; k < t->count[o]; k++)
                dtype_store(c.type, t->memory[o], k, (double)pick(-1, 1));
    }
    gpu_trials_run(&list, kernel_scatter);
}

/* out[i + index[i], j] += data[i, j]: windows that overlap, in order. */
static void test_scatters_that_overlap(void **state)
{
    (void)state;
    seed_state = 55;
    gpu_trials_start(&list, 1);
    for (int round = 0; round < 4; round++) {
        int64_t size[2] = {31, 40}, along = 7;
        trial   t = trial_of(INSTR_SCATTER, 2, size);
        access  out = {.type = MTF_F32}, in = {.type = MTF_F32}, index = {.type = MTF_I32};
        out.stride[0] = round == 3 ? 1 : size[1];
        out.stride[1] = round == 2 ? 0 : 1;
        in.stride[0] = size[1];
        in.stride[1] = 1;
        index.stride[0] = 1;
        t.i.gather =
            (gather_args){.nindex = 1, .along = along, .along_stride = size[1], .set = round == 1};
        gpu_operand(&t, &out, (size[0] + along) * size[1], false);
        gpu_operand(&t, &in, size[0] * size[1], false);
        gpu_operand(&t, &index, size[0], false);
        for (int64_t k = 0; k < size[0]; k++)
            ((int32_t *)t.memory[2])[k] = (int32_t)pick(-1, along);
        gpu_trials_add(&list, t);
    }
    gpu_trials_run(&list, kernel_scatter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_scatters),
        cmocka_unit_test(test_sorted_scatters),
        cmocka_unit_test(test_many_tiles),
        cmocka_unit_test(test_short_floats_are_rounded_once),
        cmocka_unit_test(test_scatters_that_overlap),
    };
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
