/* Kernels of products compile for a card: every type and way. */
#include "mtf_build.h"

#if MTF_HAVE_CUDA
#include "machine/cuda/kernel_compile.h"
#endif

#include "ground.h"

#if MTF_HAVE_CUDA
#include "machine/host_card.h"

static void test_kernels_compile_for_a_card(void **state)
{
    static const int64_t sizes[][3] = {
        {3, 5, 7}, {3, 5, 100}, {16, 20, 5}, {40, 30, 5}, {50, 64, 5}};
    host_card     card = host_card_open();
    arena         a = arena_make(&card.session->allocator, &card.session->fault);
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
    host_card_compile_for_real(&card, kernel_source_text(&s));
    arena_free(&a);
    host_card_close(&card);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels_compile_for_a_card)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    printf("without CUDA's headers there is no card that is the host\n");
    return 0;
}
#endif
