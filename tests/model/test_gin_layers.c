/* Tests layers that configurations describe: bilinear, branched, synthesized attention, layers in parallel,
 * memories, fixup. */
#include "config_models.h"

/* last */
#include "ground.h"

#define LM "run.model_type = 'lm'\nd_model = 8\nnum_heads = 4\nd_kv = 3\nd_ff = 10\n"
#define BI "run.model_type = 'bitransformer'\nd_model = 8\nnum_heads = 4\nd_kv = 3\nd_ff = 10\n"
#define LAYERS "make_layer_stack.layers = "

static void test_bilinear(void **state)
{
    (void)state;
    opened o = open_tiny(BI "encoder/" LAYERS "[@GeneralBilinearSelfAttention, @DenseReluDense]\n"
                            "decoder/" LAYERS
                            "[@GeneralBilinearSelfAttention, @GeneralBilinearEncDecAttention]\n"
                            "GeneralBilinearSelfAttention.heads_dims = (('heads', 3),)\n"
                            "GeneralBilinearSelfAttention.relative_attention_type = 'bias'");
    mtf_graph *g = build(&o);
    check_shape(g,
                "decoder/block_000/layer_000/GeneralBilinearSelfAttention/"
                "relative_attention_bias",
                3, 32);
    check_tiny_ends(&o);
}

static void test_branched(void **state)
{
    (void)state;
    opened     o = open_tiny(BI "encoder/" LAYERS "[@BranchedSelfAttention]\n"
                                    "decoder/" LAYERS "[@BranchedSelfAttention, @BranchedEncDecAttention]\n"
                                    "decoder/DenseReluDense.hidden_size = 7");
    mtf_graph *g = build(&o);
    check_shape(g, "encoder/block_000/layer_000/BranchedSelfAttention/wi/kernel", 8, 10);
    check_shape(g, "decoder/block_001/layer_001/BranchedEncDecAttention/wo/kernel", 7, 8);
    check_shape(g, "decoder/block_000/layer_000/BranchedSelfAttention/kappa", 4, 0);
    check_shape(g, "decoder/block_000/layer_000/BranchedSelfAttention/alpha", 4, 0);
    check_tiny_ends(&o);
    refuse_tiny(LM LAYERS "[@BranchedSelfAttention]\nSelfAttention.num_memory_heads = 2",
                "BranchedSelfAttention takes num_memory_heads = 0 only");
}

static void test_synthesizer(void **state)
{
    static const char *const modes[] = {"random",          "factorized", "dense_minus",
                                        "random_plus",     "dense_plus", "random_plus_alpha",
                                        "dense_plus_alpha"};
    (void)state;
    for (int k = 0; k < 7; k++) {
        char text[400];
        snprintf(text, sizeof text,
                 LM LAYERS "[@Synthesizer]\nSynthesizer.synthesize_mode = '%s'\n"
                           "Synthesizer.num_heads = 4\nSynthesizer.key_value_size = 3\n"
                           "synthetic_attention.max_length = 600",
                 modes[k]);
        opened     o = open_tiny(text);
        mtf_graph *g = build(&o);
        char       inside[] = "transformer/block_000/layer_000/Synthesizer/";
        char       name[100];
        snprintf(name, sizeof name, "%s%s", inside, strstr(modes[k], "plus") ? "q" : "kv");
        check_shape(g, name, 8, 12);
        snprintf(name, sizeof name, "%spi/kernel", inside);
        if (strstr(modes[k], "dense")) check_shape(g, name, 3, 600);
        snprintf(name, sizeof name, "%salpha", inside);
        if (strstr(modes[k], "alpha")) check_shape(g, name, 1, 0);
        check_tiny_ends(&o);
    }
    refuse_tiny(LM LAYERS "[@Synthesizer]\nSynthesizer.synthesize_mode = 'sparse'",
                "synthesize_mode takes 'random', 'factorized', 'dense_minus'");
}

static void test_parallel(void **state)
{
    (void)state;
    opened o =
        open_tiny(LM LAYERS "[@ParallelLayer, @one/ParallelLayer]\n"
                            "one/ParallelLayer.layer_classes = [@SelfAttention, @SelfAttention]");
    mtf_graph *g = build(&o);
    check_shape(g, "transformer/block_000/layer_000/ParallelLayer/wi/kernel", 8, 10);
    check_shape(g, "transformer/block_000/layer_000/ParallelLayer/q", 8, 12);
    check_shape(g, "transformer/block_000/layer_001/ParallelLayer/q", 8, 12);
    check_shape(g, "transformer/block_000/layer_001/ParallelLayer/SelfAttention_1/q", 8, 12);
    check_tiny_ends(&o);
    refuse_tiny(LM LAYERS "[@ParallelLayer]\nParallelLayer.layer_classes = [@EncDecAttention]",
                "attends to an encoder, which the model does not have");
    refuse_tiny(LM LAYERS "[@ParallelLayer]\nParallelLayer.layer_classes = 3",
                "ParallelLayer.layer_classes takes a list of layers");
}

static void test_product_keys(void **state)
{
    (void)state;
    opened     o = open_tiny(LM LAYERS "[@SelfAttention, @memory_layers.ProductKeyValueMemory]\n"
                                           "ProductKeyValueMemory.key_size = 6\n"
                                           "ProductKeyValueMemory.n_keys = 5\n"
                                           "ProductKeyValueMemory.n_heads = 2\n"
                                           "ProductKeyValueMemory.knn = 3");
    mtf_graph *g = build(&o);
    check_shape(g, "transformer/block_000/layer_001/ProductKeyValueMemory/values", 25, 8);
    check_tiny_ends(&o);
    refuse_tiny(LM LAYERS "[@ProductKeyValueMemory]\nProductKeyValueMemory.key_size = 6",
                "ProductKeyValueMemory needs its parameter n_keys");
}

static void test_fixup(void **state)
{
    static const char fixup[] = BI
        "encoder/" LAYERS "[@SelfAttentionFixup, @fixup_layers.DenseReluDenseFixup]\n"
        "decoder/" LAYERS "[@SelfAttentionFixup, @EncDecAttentionFixup, @DenseReluDenseFixup]\n"
        "LayerStack.sublayers_per_layer = [@sublayer_fixup_shift, @sublayer_call_layer,\n"
        "  @sublayer_fixup_scale, @sublayer_residual]\n"
        "SelfAttentionFixup.num_blocks = 10\nDenseReluDenseFixup.num_blocks = 10\n"
        "DenseReluDenseFixup.hidden_size = 10\nSelfAttentionFixup.init_distribution = 'normal'\n";
    char text[900];
    (void)state;
    snprintf(text, sizeof text, "%sSelfAttention.fold_scaling_into_initializer = False", fixup);
    opened     o = open_tiny(text);
    mtf_graph *g = build(&o);
    check_shape(g, "encoder/block_000/layer_000/SelfAttentionFixup/q_fixup", 8, 12);
    check_shape(g, "decoder/block_001/layer_001/EncDecAttentionFixup/o_fixup", 12, 8);
    check_shape(g, "decoder/block_001/layer_002/DenseReluDenseFixup/shift", 1, 0);
    check_shape(g, "decoder/block_001/layer_002/fixup_scale_weight", 1, 0);
    check_shape(g, "decoder/block_001/layer_002/fixup_bias", 1, 0);
    check_tiny_ends(&o);
    refuse_tiny(fixup, "bind SelfAttentionFixup.fold_scaling_into_initializer = False");
    refuse_tiny(LM LAYERS "[@DenseReluDenseFixup]",
                "DenseReluDenseFixup needs its parameter num_blocks");
}

static void test_transparent(void **state)
{
    (void)state;
    refuse_tiny(BI "decoder/" LAYERS "[@TransparentEncDecAttention, @DenseReluDense]",
                "TransparentEncDecAttention needs its parameter layers_per_encoder_module");
    refuse_tiny(BI "decoder/" LAYERS "[@TransparentEncDecAttention, @DenseReluDense]\n"
                   "TransparentEncDecAttention.layers_per_encoder_module = 2\n"
                   "TransparentEncDecAttention.layers_per_decoder_module = 2\n"
                   "TransparentEncDecAttention.encoder_num_modules = 3\n"
                   "TransparentEncDecAttention.decoder_num_modules = 2",
                "transparent attention: 3 modules of 2 layers; \"encoder\" has 4 layers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bilinear),     cmocka_unit_test(test_branched),
        cmocka_unit_test(test_synthesizer),  cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_product_keys), cmocka_unit_test(test_fixup),
        cmocka_unit_test(test_transparent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
