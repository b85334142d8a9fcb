/* Kernels of products compile for a GPU: every type and way. */
#include "cuda/driver/kernel_compile.h"
#include "cuda/write/slim.h"

#include "ground.h"

#include "machine/host_gpu.h"

static void test_kernels_compile_for_a_gpu(void **state)
{
    static const int64_t sizes[][3] = {
        {3, 5, 7}, {3, 5, 100}, {16, 20, 5}, {40, 30, 5}, {50, 64, 5}};
    host_gpu      gpu = host_gpu_open();
    arena         a = arena_make(&gpu.session->allocator, &gpu.session->fault);
    kernel_source s = kernel_source_make(&a);
    (void)state;
    for (int type = 0; type <= MTF_BOOL; type++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const int64_t *n = sizes[k];
            access      operands[3] = {{.stride = {n[0] * n[1], n[1], 1}, .type = (mtf_dtype)type},
                                       {.stride = {0, -1, 0, 2}, .type = (mtf_dtype)type},
                                       {.stride = {n[1] * n[2], 0, n[2], 1}, .type = (mtf_dtype)type}};
            instr       i = {.kind = INSTR_CONTRACT,
                             .nout = 1,
                             .nin = 2,
                             .out = operands,
                             .in = operands + 1,
                             .nloops = 4,
                             .size = {3, n[0], n[1], n[2]}};
            kernel_plan plan = {0};
            assert_true(write_contract(&s, &i, &plan));
            assert_int_equal(plan.nlaunches, 1);
        }
    host_gpu_compile_for_real(&gpu, kernel_source_text(&s));
    arena_free(&a);
    host_gpu_close(&gpu);
}

/* Few columns: both ways, with a map after the product, two of them in one kernel. */
static void test_slim_kernels_compile_for_a_gpu(void **state)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16, MTF_F16};
    host_gpu               gpu = host_gpu_open();
    arena                  a = arena_make(&gpu.session->allocator, &gpu.session->fault);
    kernel_source          s = kernel_source_make(&a);
    bool                   knows_clusters = atoi(gpu.architecture + strlen("sm_")) >= 90;
    (void)state;
    for (int k = 0; k < 6; k++)
        for (int columns = 1; columns <= 4; columns += 3) {
            mtf_dtype type = types[k % 3];
            int64_t   terms = k < 3 ? 264 : 1600; /* of which blocks have a share each */
            access    out = {.type = type, .stride = {columns, 1}};
            access    across[] = {{.type = type, .stride = {1, 0, 264}},
                                  {.type = type, .stride = {0, 1, columns}}};
            access    along[] = {{.type = type, .stride = {terms, 0, 1}}, across[1]};
            access in[] = {{.type = type, .stride = {columns, 1}}, {.type = type, .stride = {1}}};
            const scalar_step steps[] = {{.fn = FN_add, .type = MTF_F32, .a = 0, .b = 1},
                                         {.fn = FN_gelu, .type = MTF_F32, .a = 2}};
            instr             product = {.kind = INSTR_CONTRACT,
                                         .nout = 1,
                                         .nin = 2,
                                         .out = &out,
                                         .nloops = 3,
                                         .size = {264, columns, terms}};
            instr             map = {.kind = INSTR_MAP,
                                     .nout = 1,
                                     .nin = 2,
                                     .out = &out,
                                     .in = in,
                                     .nloops = 2,
                                     .size = {264, columns},
                                     .map = {.nsteps = 2, .steps = steps, .results = &(int){3}}};
            instr             first = product, second = product;
            slim_group        both = {.n = 2,
                                      .members = {{.product = &first, .fixed = columns == 1},
                                                  {.product = &second, .fixed = columns == 1}}};
            slim_member      *members = both.members;
            kernel_plan       plan = {0};
            s.cluster = k < 3 || !knows_clusters ? 1 : 8;
            first.in = across, second.in = along;
            for (int m = 0; m < 2; m++) {
                assert_true(slim_suits(members[m].product) && slim_takes(&members[m], &map, 0));
                members[m].map[members[m].nmaps++] = &map;
            }
            const scalar_step norm[] = {{.fn = FN_multiply, .type = MTF_F32, .a = 0, .b = 0},
                                        {.fn = FN_ROW_SUM, .type = MTF_F32, .a = 1},
                                        {.fn = FN_multiply, .type = MTF_F32, .a = 0, .b = 2}};
            access            line = {.type = type, .stride = {1}};
            instr             row = {.kind = INSTR_MAP,
                                     .nout = 1,
                                     .nin = 1,
                                     .out = &line,
                                     .in = &line,
                                     .nloops = 1,
                                     .size = {terms},
                                     .map = {.nrow = 1, .nsteps = 3, .steps = norm, .results = &(int){3}}};
            if (columns == 1) {
                assert_true(slim_is_row(&row) && slim_reads_row(&first, &row));
                both.row = &row;
            }
            instr whole = slim_operands(&a, &both);
            assert_int_equal(whole.nin, columns == 1 ? 7 : 6);
            assert_true(write_slim(&s, &whole, &both, &plan));
            assert_int_equal(plan.nlaunches, 1);
            assert_true(plan.launch[0].blocks % s.cluster == 0);
        }
    if (knows_clusters) assert_non_null(strstr(kernel_source_text(&s), "__cluster_dims__(8"));
    host_gpu_compile_for_real(&gpu, kernel_source_text(&s));
    arena_free(&a);
    host_gpu_close(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_compile_for_a_gpu),
        cmocka_unit_test(test_slim_kernels_compile_for_a_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
