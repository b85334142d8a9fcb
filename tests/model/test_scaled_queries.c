/* Tests where queries are scaled: before attention, or by it. */
#include "graph/node.h"
#include "mtf_transformer.h"

/* last */
#include "ground.h"

/* The scale of a layer's attention. */
static double scale_of(mtf_attention_layer attention, mtf_dtype type)
{
    mtf_session                *s = open_two_threads();
    mtf_graph                  *g = mtf_graph_new(s);
    const mtf_transformer_layer layers[] = {{MTF_SELF_ATTENTION, .attention = attention}, {0}};
    mtf_shape                   ids = mtf_shape((mtf_dim){"batch", 1}, (mtf_dim){"length", 3});
    static const int32_t        text[] = {3, 5, 1};
    mtf_transformer_batch       b = {.targets = mtf_constant_data(g, text, MTF_I32, ids)};
    mtf_transformer            *model =
        mtf_transformer_new(s, &(mtf_transformer_opts){.d_model = 8,
                                                       .input_vocab = 8,
                                                       .vocab_divisor = 8,
                                                       .activation = type,
                                                       .stack = {.layers = layers, .blocks = 1}});
    mtf_transformer_apply(model, &b, NULL);
    assert_string_equal(mtf_error(s), "");
    double scale = 0;
    for (int i = 0; i < g->ntensors; i++) {
        const node *n = g->all[i]->node;
        if (strcmp(n->op->name, "attention") == 0) scale = n->attrs[op_attr_find(n->op, "scale")].r;
    }
    close_well(s);
    return scale;
}

static void test_attention_scales(void **state)
{
    mtf_attention_layer a = {.heads = 2, .kv = 16, .scale_queries = true};
    (void)state;
    assert_true(scale_of(a, MTF_BF16) == 0.25);
    assert_true(scale_of(a, MTF_F16) == 0.25);
    assert_true(scale_of(a, MTF_F32) == 0.25);
    a.rotary = 10000;
    assert_true(scale_of(a, MTF_BF16) == 0.25);
    a.scale_queries = false;
    assert_true(scale_of(a, MTF_BF16) == 1);
}

/* bf16 rounds a product by another number, and a contextual bias is one of scaled queries. */
static void test_queries_are_scaled(void **state)
{
    mtf_attention_layer a = {.heads = 2, .kv = 8, .scale_queries = true};
    (void)state;
    assert_true(scale_of(a, MTF_BF16) == 1);
    assert_true(fabs(scale_of(a, MTF_F32) - sqrt(0.125)) < 1e-15);
    a.kv = 16, a.relative = MTF_RELATIVE_CONTEXTUAL;
    assert_true(scale_of(a, MTF_F32) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_scales),
        cmocka_unit_test(test_queries_are_scaled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
