/* Equal layers share their kernels, however many there are. */
#include "cuda/library/products.h"
#include "cuda/write/kernel_source.h"
#include "mtf_transformer.h"
#include "plan/plan.h"

#include "ground.h"

/* Training a Transformer of so many layers; with dropout each has random numbers of its own. */
static program *plan_of(mtf_session *s, int layers, double dropout)
{
    const mtf_transformer_layer each[] = {
        {.kind = MTF_SELF_ATTENTION,
         .attention =
             {.heads = 2, .kv = 16, .bias = true, .dropout = dropout, .dropout_each = true}},
        {.kind = MTF_FEED_FORWARD,
         .feed_forward = {.hidden = 128, .activation = {"gelu"}, .bias = true}},
        {0}};
    mtf_graph       *g = mtf_graph_new(s);
    mtf_dim          batch = {"batch", 4}, length = {"length", 32};
    mtf_tensor      *targets = mtf_input(g, "targets", MTF_I32, mtf_shape(batch, length));
    mtf_transformer *m = mtf_transformer_new(
        s, &(mtf_transformer_opts){
               .d_model = 32,
               .input_vocab = 64,
               .stack = {.layers = each, .blocks = layers, .dropout = dropout, .max_length = 32},
               .activation = MTF_BF16});
    mtf_tensor *loss = mtf_transformer_apply(m, &(mtf_transformer_batch){.targets = targets},
                                             &(mtf_transformer_call){.training = true})
                           .loss;
    mtf_adam(g, loss, &(mtf_adam_opts){.rate = 1e-3f});
    program *p = plan_program(g, 1, &loss, &(plan_opts){0});
    if (!p) fail_msg("%s", mtf_error(s));
    return p;
}

static bool is_kernel(const instr *i)
{
    return kernel_writer_of(i->kind) && instr_elements(i) > 0 &&
           !(i->kind == INSTR_CONTRACT && product_suits(i));
}

static void assert_same_plan(const kernel_plan *a, const kernel_plan *b)
{
    assert_int_equal(a->nlaunches, b->nlaunches);
    assert_true(a->scratch_bytes == b->scratch_bytes);
    assert_int_equal(a->nnumbers, b->nnumbers);
    for (int k = 0; k < a->nnumbers; k++) assert_true(a->number[k] == b->number[k]);
    for (int k = 0; k < a->nlaunches; k++) {
        const kernel_launch *x = &a->launch[k], *y = &b->launch[k];
        assert_string_equal(x->name, y->name);
        assert_true(x->blocks == y->blocks && x->threads == y->threads && x->shared == y->shared);
    }
}

typedef struct counts {
    int instrs, kernels, written;
} counts;

/* Each instruction written by itself, and with the memory of those before. */
static counts count_kernels(int layers, double dropout)
{
    mtf_session  *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .device = "cuda"});
    program      *p = plan_of(s, layers, dropout);
    kernel_source plain = kernel_source_for(&s->arena, s), reused = kernel_source_for(&s->arena, s);
    counts        c = {0};
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        kernel_plan  a = {0}, b = {0};
        if (!is_kernel(i)) continue;
        assert_true(kernel_writer_of(i->kind)(&plain, i, &a) && kernel_write(&reused, i, &b));
        assert_same_plan(&a, &b);
        c.instrs++;
    }
    assert_string_equal(kernel_source_text(&plain), kernel_source_text(&reused));
    c.kernels = reused.nkernels;
    c.written = reused.nwritten;
    program_free(p);
    mtf_close(s);
    return c;
}

static void test_more_layers_need_no_more_kernels(void **state)
{
    counts few = count_kernels(4, 0), many = count_kernels(9, 0);
    (void)state;
    assert_true(many.instrs > few.instrs + 100); /* there is more to do */
    assert_int_equal(many.kernels, few.kernels);
    assert_int_equal(many.written, few.written);
}

static void test_nor_do_layers_with_dropout(void **state)
{
    counts few = count_kernels(4, 0.25), many = count_kernels(9, 0.25);
    (void)state;
    assert_true(few.kernels > count_kernels(4, 0).kernels); /* there is dropout */
    assert_int_equal(many.kernels, few.kernels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_more_layers_need_no_more_kernels),
        cmocka_unit_test(test_nor_do_layers_with_dropout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
