/* Tests what files of the original and of T5 write otherwise than ours. */
#include "config_models.h"

/* last */
#include "ground.h"

static bool has_variable(mtf_graph *g, const char *name)
{
    enum { MOST = 256 };
    mtf_tensor *list[MOST];
    int         n = mtf_variables(g, list, MOST);
    assert_true(n <= MOST);
    for (int k = 0; k < n; k++)
        if (strcmp(tensor_name(list[k]), name) == 0) return true;
    return false;
}

/* ---- layers ---- */

/* Class, name and arguments stand in any order; the name is the scope of the layer. */
static void test_layer_items(void **state)
{
    (void)state;
    opened     o = open_tiny("run.model_type = 'lm'\nd_model = 8\n"
                                 "make_layer_stack.layers = [('look', @SelfAttention), @DenseReluDense,\n"
                                 "  ({'hidden_size': 24}, @DenseReluDense),\n"
                                 "  ({'hidden_size': 40}, 'wide', @DenseReluDense)]");
    mtf_graph *g = build(&o);
    check_shape(g, "transformer/block_000/look/rms_norm/scale", 8, 0);
    assert_true(has_variable(g, "transformer/block_001/look/SelfAttention/q"));
    assert_true(has_variable(g, "transformer/block_000/layer_001/DenseReluDense/wi/kernel"));
    check_shape(g, "transformer/block_000/layer_002/DenseReluDense/wi/kernel", 8, 24);
    check_shape(g, "transformer/block_000/wide/DenseReluDense/wi/kernel", 8, 40);
    check_tiny_ends(&o);
    refuse_tiny("run.model_type = 'lm'\nmake_layer_stack.layers = [('one', 'two', @SelfAttention)]",
                "a layer is a class, or a class, a name and a dictionary of arguments");
    refuse_tiny("run.model_type = 'lm'\nmake_layer_stack.layers = [('one',)]",
                "a layer is a class, or a class, a name and a dictionary of arguments");
}

/* Layers that mix neighbours, with the names of the original. */
static void test_neighbours(void **state)
{
    (void)state;
    opened o = open_tiny(
        "d_model = 8\nBitransformer.shared_embedding = True\n"
        "Conv1DLayer.filter_size = 5\nSeparableConv1DLayer.min_relative_pos = -2\n"
        "Conv1DLocalAttn.min_relative_pos = -1\nConv1DLocalAttn.num_unique_depth_filters = 2\n"
        "LocalConvAttnBlock.attention_type = 'dynamic_conv'\n"
        "EncDecAttention.key_value_size = 4\nSelfAttention.key_value_size = 4\n"
        "encoder/make_layer_stack.layers = [@Conv1DLayer, @EncoderConvolutionalLayer]\n"
        "decoder/make_layer_stack.layers = [@SeparableConv1DLayer, @LightweightConv1DLocalAttn,\n"
        "  @DynamicConv1DLocalAttn, @LocalConvAttnBlock, @GatedLinearUnitLayer,\n"
        "  @DecoderConvolutionalLayer, [@DecoderAttentionLayer, {'base_num_heads': 3}]]");
    mtf_graph *g = build(&o);
    check_shape(g, "encoder/block_000/layer_001/EncoderConvolutionalLayer/conv1x1/kernel", 8, 32);
    check_shape(g, "decoder/block_000/layer_001/LightweightConv1DLocalAttn/kernel_weights", 2, 2);
    check_shape(g, "decoder/block_000/layer_003/LocalConvAttnBlock/projection/kernel", 8, 8);
    check_shape(g, "decoder/block_000/layer_006/DecoderAttentionLayer/SelfAttention/q", 8, 24);
    check_shape(g, "decoder/block_000/layer_006/DecoderAttentionLayer/EncDecAttention/q", 8, 12);
    assert_true(has_variable(g, "encoder/block_000/layer_000/Conv1DLayer/conv1d/kernel"));
    assert_true(has_variable(g, "decoder/block_000/layer_000/SeparableConv1DLayer/separable_conv1d/"
                                "depthwise_dense_2/kernel"));
    check_tiny_ends(&o);
    refuse_tiny("run.model_type = 'lm'\nmake_layer_stack.layers = [@LocalConvAttnBlock]\n"
                "LocalConvAttnBlock.attention_type = 'conv'",
                "LocalConvAttnBlock.attention_type takes 'lightweight_conv' or 'dynamic_conv', not "
                "'conv'");
    refuse_tiny("run.model_type = 'lm'\nmake_layer_stack.layers = [@Conv1DLayer]\n"
                "Conv1DLayer.activation = 'reluu'",
                "Conv1DLayer.activation: there is no \"reluu\"; did you mean \"relu\"?");
    refuse_tiny("run.model_type = 'lm'\nmake_layer_stack.layers = [@LayerStack]",
                "LayerStack is not a layer; layers are SelfAttention, LocalSelfAttention, ");
}

/* No 0 becomes a default. */
static void test_zeros(void **state)
{
    static const struct {
        const char *layer, *parameter;
    } above[] = {{"SeparableConv1DLayer", "depthwise_filter_initializer_scale"},
                 {"SeparableConv1DLayer", "pointwise_filter_initializer_scale"},
                 {"EncoderConvolutionalLayer", "initializer_scale"},
                 {"EncoderConvolutionalLayer", "norm_epsilon"},
                 {"TalkingHeadsSelfAttention", "dynamic_projections_init_scale"},
                 {"MoE1D", "capacity_factor_train"},
                 {"MoE1D", "switch_temperature"},
                 {"MoE1D", "gate_scale"}};
    char text[400], why[200];
    (void)state;
    for (size_t k = 0; k < sizeof above / sizeof *above; k++) {
        snprintf(text, sizeof text,
                 "run.model_type = 'lm'\nmake_layer_stack.layers = [@%s]\n%s.%s = 0.0",
                 above[k].layer, above[k].layer, above[k].parameter);
        snprintf(why, sizeof why, "%s.%s takes a number above 0, not 0.0", above[k].layer,
                 above[k].parameter);
        refuse_tiny(text, why);
    }
    refuse_tiny("run.model_type = 'lm'\nmake_layer_stack.layers = [@Conv1DLayer]\n"
                "Conv1DLayer.output_size = 0",
                "Conv1DLayer.output_size takes a whole number from 1 on, not 0");
    refuse_tiny(
        "run.model_type = 'lm'\nmake_layer_stack.layers = [@SeparableConv1DLayer]\n"
        "SeparableConv1DLayer.min_relative_pos = 0\nSeparableConv1DLayer.max_relative_pos = 0",
        "from min_relative_pos 0 to max_relative_pos 0 there are no neighbours");
    refuse_tiny("run.model_type = 'lm'\nLayerStack.dropout_rate = 0.1\nLayerStack.norm_epsilon = 0",
                "LayerStack.norm_epsilon takes a number above 0");
    opened o = open_tiny("run.model_type = 'lm'\nd_model = 8\nmake_layer_stack.layers = [@MoE1D]\n"
                         "MoE1D.second_threshold_train = 0.0\nMoE1D.switch_jitter = 0.0");
    const mtf_moe_opts *moe = &o.model.model.stack.layers[0].moe;
    assert_true(moe->second_threshold_train < 0 && moe->switch_jitter < 0);
    assert_near(moe->second_threshold_eval, 0.2, 0);
    assert_near(moe->switch_dropout, 0.1, 0);
    close_well(o.session);
}

/* A stack whose layers recur. */
static void test_universal(void **state)
{
    static const char head[] = "run.model_type = 'lm'\nd_model = 8\n"
                               "make_layer_stack.layers = [@SelfAttention, @DenseReluDense]\n"
                               "make_layer_stack.layer_stack_cls = @UTLayerStack\n"
                               "make_layer_stack.num_layers = 1\n";
    static const struct {
        const char *line, *why;
    } wrong[] = {{"UTLayerStack.recurrence_type = 'skip'",
                  "UTLayerStack.recurrence_type takes 'basic', 'highway' or 'act', not 'skip'"},
                 {"UTLayerStack.position_start_index = 'first'",
                  "UTLayerStack.position_start_index takes None, 'step' or 'random', not 'first'"},
                 {"UTLayerStack.gates_inputs = 'x'", "UTLayerStack.gates_inputs takes some of 's'"},
                 {"UTLayerStack.act_epsilon = 1.5",
                  "UTLayerStack.act_epsilon takes a number between 0 and 1, not 1.5"}};
    char text[900];
    (void)state;
    snprintf(text, sizeof text,
             "%sUTLayerStack.recurrence_type = 'act'\nUTLayerStack.act_type = 'global'\n"
             "UTLayerStack.act_max_steps = 3\nUTLayerStack.num_inrecurrence_layers = 2\n"
             "UTLayerStack.mix_with_transformer_before_ut = True\n"
             "UTLayerStack.add_or_concat_timing_signal = 'concat'\n"
             "UTLayerStack.use_gated_transformer = True\nUTLayerStack.gating_type = 'gru'\n"
             "UTLayerStack.dropout_rate = 0.1",
             head);
    opened     o = open_tiny(text);
    mtf_graph *g = build(&o);
    check_shape(g, "transformer/step_embedding", 4, 8);
    check_shape(g, "transformer/timing_projection/kernel", 24, 8);
    check_shape(g, "transformer/halting/kernel", 8, 0);
    check_shape(g, "transformer/before_001/block_000/layer_000/gating/update/kernel", 16, 8);
    check_shape(g, "transformer/recurrent_001/block_000/layer_000/layer_norm/scale", 8, 0);
    check_shape(g, "transformer/final_layer_norm/scale", 8, 0);
    assert_true(has_variable(g, "transformer/recurrent_000/block_000/layer_000/SelfAttention/q"));
    assert_false(has_variable(g, "transformer/after_000/block_000/layer_000/SelfAttention/q"));
    check_tiny_ends(&o);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        snprintf(text, sizeof text, "%s%s", head, wrong[k].line);
        refuse_tiny(text, wrong[k].why);
    }
}

/* An encoder with fewer and fewer positions. */
static void test_funnel(void **state)
{
    static const char head[] =
        "d_model = 8\nmake_bitransformer.bitransformer_cls = @BitransformerFunnel\n"
        "encoder/make_layer_stack.layer_stack_cls = @FunnelTransformerLayerStack\n"
        "encoder/make_layer_stack.num_layers = 3\n"
        "FunnelTransformerLayerStack.n_blocks = 2\n"
        "FunnelTransformerLayerStack.block_repeat_size = [1, 2]\n"
        "FunnelTransformerLayerStack.pooling_type = 'min'\n";
    static const struct {
        const char *line, *why;
    } wrong[] = {{"block_param_size = [1, 1]",
                  "block_param_size takes numbers whose sum is make_layer_stack.num_layers"},
                 {"block_param_size = [3]",
                  "block_param_size takes a list with a whole number from 1 to 999"},
                 {"n_submodules = 3", "n_submodules takes the number of make_layer_stack.layers"},
                 {"pooling_type = 'sum'", "pooling_type takes 'mean', 'max' or 'min'"}};
    char text[900];
    (void)state;
    snprintf(text, sizeof text, "%sFunnelTransformerLayerStack.block_param_size = [1, 2]", head);
    opened     o = open_tiny(text);
    mtf_graph *g = build(&o);
    assert_true(has_variable(g, "encoder/block_002/layer_001/DenseReluDense/wi/kernel"));
    check_tiny_ends(&o);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        snprintf(text, sizeof text,
                 "%sFunnelTransformerLayerStack.block_param_size = [1, 2]\n"
                 "FunnelTransformerLayerStack.%s",
                 head, wrong[k].line);
        refuse_tiny(text, wrong[k].why);
    }
    refuse_tiny("run.model_type = 'lm'\n"
                "make_layer_stack.layer_stack_cls = @FunnelTransformerLayerStack\n"
                "make_layer_stack.num_layers = 1\n"
                "FunnelTransformerLayerStack.block_param_size = [1]\n"
                "FunnelTransformerLayerStack.block_repeat_size = [1]",
                "it belongs to the encoder of an encoder-decoder");
}

/* Stacks with one name share the variables of layers with one name. */
static void test_one_stack_for_both(void **state)
{
    static const char layers[] =
        "run.model_type = 'bitransformer'\n"
        "encoder/make_layer_stack.layers = [('look', @SelfAttention), ('think', @DenseReluDense)]\n"
        "decoder/make_layer_stack.layers = [('look', @SelfAttention), ('ask', @EncDecAttention),\n"
        "    ('think', @DenseReluDense)]\nmake_bitransformer.encoder_name = ";
    char text[600];
    (void)state;
    snprintf(text, sizeof text, "%s'decoder'", layers);
    opened     o = open_tiny(text);
    mtf_graph *g = build(&o);
    int64_t    one = count_parameters(g);
    assert_false(has_variable(g, "encoder/block_000/look/SelfAttention/q"));
    close_well(o.session);
    snprintf(text, sizeof text, "%s'encoder'", layers);
    o = open_tiny(text);
    g = build(&o);
    assert_true(has_variable(g, "encoder/block_000/look/SelfAttention/q"));
    assert_true(count_parameters(g) > one);
    close_well(o.session);
}

/* Layers share a table of relative positions with those that have as many heads and the same window. */
static void test_shared_tables(void **state)
{
    (void)state;
    opened o =
        open_tiny("run.model_type = 'lm'\n"
                  "SelfAttention.relative_attention_type = 'bias_shared'\n"
                  "LocalSelfAttention.radius = 4\n"
                  "make_layer_stack.layers = [({'num_heads': 2}, @SelfAttention), @SelfAttention,\n"
                  "  ({'num_heads': 2}, @SelfAttention), @SelfAttention, @LocalSelfAttention]");
    mtf_graph *g = build(&o);
    check_shape(g, "transformer/block_000/layer_000/SelfAttention/relative_attention_bias", 2, 32);
    check_shape(g, "transformer/block_000/layer_001/SelfAttention/relative_attention_bias", 4, 32);
    check_shape(g, "transformer/block_000/layer_004/LocalSelfAttention/relative_attention_bias", 8,
                32);
    assert_false(
        has_variable(g, "transformer/block_000/layer_002/SelfAttention/relative_attention_bias"));
    assert_false(
        has_variable(g, "transformer/block_000/layer_003/SelfAttention/relative_attention_bias"));
    assert_false(
        has_variable(g, "transformer/block_001/layer_000/SelfAttention/relative_attention_bias"));
    close_well(o.session);
}

/* Which tables of learned positions an encoder-decoder has: by the original's rules, one where both stacks
 * have as many positions and share the embedding. */
static void test_positions(void **state)
{
    static const struct {
        const char *text;
        bool        shared, encoder, decoder;
    } cases[] = {
        {"", true, false, false},
        {"Bitransformer.shared_positional_embedding = False", false, true, true},
        {"Bitransformer.shared_embedding = False\n"
         "Unitransformer.shared_embedding_and_softmax_weights = False",
         false, true, true},
        {"encoder/Unitransformer.max_length = 600", false, true, true},
        {"encoder/Unitransformer.positional_embedding = False", false, false, true},
        {"decoder/Unitransformer.sinusoid_positional_embedding = True", true, false, false},
        {"Unitransformer.sinusoid_positional_embedding = True", false, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        snprintf(text, sizeof text, "run.model_type = 'bitransformer'\n%s", cases[i].text);
        opened     o = open_tiny(text);
        mtf_graph *g = build(&o);
        if (has_variable(g, "shared/positional_embedding") != cases[i].shared ||
            has_variable(g, "encoder/positional_embedding") != cases[i].encoder ||
            has_variable(g, "decoder/positional_embedding") != cases[i].decoder)
            fail_msg("%s: other tables of positions", text);
        check_tiny_ends(&o);
    }
}

/* ---- T5 ---- */

/* 512 tokens of inputs with 15 % noise in spans of 3 are made of 568, as published. */
static void test_lengths_of_spans(void **state)
{
    static const char spans[] =
        "run.model_type = 'bitransformer'\nsizes = @preprocessors.random_spans_targets_length()\n"
        "run.sequence_length = {'inputs': %s, 'targets': %%sizes}\n"
        "preprocessors.random_spans_helper.inputs_length = 512\n"
        "random_spans_helper.noise_density = %s\n"
        "random_spans_helper.mean_noise_span_length = 3.0\n"
        "random_spans_helper.extra_tokens_per_span_inputs = 1\n"
        "random_spans_helper.extra_tokens_per_span_targets = 1\n"
        "run.batch_size = ('sequences_per_batch', 2)";
    char text[800];
    (void)state;
    snprintf(text, sizeof text, spans, "@random_spans_tokens_length()", "0.15");
    opened o = open_tiny(text);
    assert_int_equal(o.run.inputs_length, 568);
    assert_int_equal(o.run.targets_length, 114);
    assert_int_equal(count_warnings(o.config), 0);
    check_tiny_ends(&o);
    snprintf(text, sizeof text, spans, "512", "0.0");
    refuse_tiny(
        text,
        "@preprocessors.random_spans_targets_length() needs random_spans_helper.inputs_length");
}

static void check_vocabulary(const char *text, const char *means)
{
    char all[400];
    snprintf(all, sizeof all,
             "SentencePieceVocabulary.sentencepiece_model_file = 'words.model'\n"
             "run.vocabulary = @SentencePieceVocabulary()\n%s",
             text);
    opened o = open_tiny(all);
    assert_string_equal(o.run.vocabulary_text, means);
    check_tiny_ends(&o);
}

static void test_vocabularies(void **state)
{
    (void)state;
    check_vocabulary("", "sentencepiece:words.model");
    check_vocabulary("vocabularies.Vocabulary.extra_ids = 100",
                     "sentencepiece:words.model:extra=100");
    check_vocabulary("Vocabulary.extra_ids = 100\nSentencePieceVocabulary.extra_ids = 7",
                     "sentencepiece:words.model:extra=7");
}

/* What T5's class is given counts as what `run` is given. */
static void test_t5_model(void **state)
{
    (void)state;
    opened o = open_tiny("MtfModel.model_type = 'lm'\nMtfModel.tpu_topology = 'v2-8'\n"
                         "MtfModel.sequence_length = {'inputs': 8, 'targets': 16}\n"
                         "MtfModel.batch_size = ('sequences_per_batch', 3)\n"
                         "MtfModel.mesh_shape = None");
    assert_int_equal(o.run.model_type, MTF_MODEL_LM);
    assert_int_equal(o.run.targets_length, 16);
    assert_int_equal(o.run.batch, 3);
    assert_int_equal(count_warnings(o.config), 0);
    const mtf_config_note *notes;
    assert_int_equal(mtf_config_notes(o.config, &notes), 2);
    assert_contains(notes[0].text, "MtfModel.tpu_topology has no effect in mtf");
    check_tiny_ends(&o);
}

/* Parameters that operative configurations list. */
static void test_operative_names(void **state)
{
    static const char *const lines[] = {
        "rewrite_stack_variables.max_combined_variable_size = 536870912",
        "sublayer_rms_norm.name = 'rms_norm'",
        "sublayer_scale_norm.name = 'scale_norm'",
        "Bitransformer.decode.variable_dtype = None",
        "sample_autoregressive.encoder_output = None",
        "clean_decodes.eos_id = 1",
        "mesh_inference_dataset_fn.priming_sequence_length = 32",
        "mesh_eval_dataset_fn.shuffle_eval_examples = False",
        "preprocessors.filter_by_string_length.max_length = 5",
        "dataset.get_tfds_vocabulary.dataset_name = 'lm1b'",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        close_well(open_tiny(lines[i]).session);
    refuse_tiny("sublayer_rms_norm.name = 'other'",
                "sublayer_rms_norm.name is not available in mtf with any value but 'rms_norm'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_items),     cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_zeros),           cmocka_unit_test(test_universal),
        cmocka_unit_test(test_funnel),          cmocka_unit_test(test_one_stack_for_both),
        cmocka_unit_test(test_shared_tables),   cmocka_unit_test(test_lengths_of_spans),
        cmocka_unit_test(test_vocabularies),    cmocka_unit_test(test_t5_model),
        cmocka_unit_test(test_operative_names), cmocka_unit_test(test_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
