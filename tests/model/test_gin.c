/* Tests the gin language: values, scopes, macros, includes, errors. */
#include <unistd.h>

#include "model/config/configurable.h"

/* last */
#include "ground.h"

/* ---- values ---- */

/* A value read and written again. */
static void check_value(const char *text, const char *again)
{
    mtf_session     *s = mtf_open_with(NULL);
    gin_file         g = {.session = s};
    const gin_value *v = gin_read_value(&g, text, "test");
    if (!v) fail_msg("%s: %s", text, mtf_error(s));
    assert_string_equal(gin_text(&g, v), again);
    const gin_value *same = gin_read_value(&g, again, "again");
    assert_non_null(same);
    assert_string_equal(gin_text(&g, same), again);
    close_well(s);
}

static void test_values(void **state)
{
    (void)state;
    check_value("None", "None");
    check_value("  True # yes", "True");
    check_value("False", "False");
    check_value("12", "12");
    check_value("-1_000", "-1000");
    check_value("0xff", "255");
    check_value("0b101", "5");
    check_value("1e-3", "0.001");
    check_value("-.5", "-0.5");
    check_value("2.", "2.0");
    check_value("1E+30", "1e+30");
    check_value("9223372036854775807", "9223372036854775807");
    check_value("[]", "[]");
    check_value("[1, 2,\n  # between\n 3,]", "[1, 2, 3]");
    check_value("(1,)", "(1,)");
    check_value("(1)", "1");
    check_value("()", "()");
    check_value("(('heads', 12),)", "(('heads', 12),)");
    check_value("{'inputs': 512, \"targets\": [1]}", "{'inputs': 512, 'targets': [1]}");
    check_value("@SelfAttention", "@SelfAttention");
    check_value("@a/b/transformer.SelfAttention", "@a/b/transformer.SelfAttention");
    check_value("@tpu_mesh_shape()", "@tpu_mesh_shape()");
}

static void test_texts(void **state)
{
    (void)state;
    check_value("'a\"b'", "'a\"b'");
    check_value("\"it's\"", "'it\\'s'");
    check_value("'a' \"b\" 'c'", "'abc'");
    check_value("('one '\n 'two')", "'one two'");
    check_value("'''one\ntwo'''", "'one\\ntwo'");
    check_value("\"\"\"a \"quoted\" word\"\"\"", "'a \"quoted\" word'");
    check_value("'\\n\\t\\\\\\x41\\u00e9\\101'", "'\\n\\x09\\\\A\xc3\xa9"
                                                 "A'");
    check_value("r'\\d+'", "'\\\\d+'");
    check_value("'\\d'", "'\\\\d'");
    check_value("'a\\\nb'", "'ab'");
}

static void refuse_value(const char *text, const char *sentence)
{
    mtf_session *s = mtf_open_with(NULL);
    gin_file     g = {.session = s};
    assert_null(gin_read_value(&g, text, "t.gin"));
    assert_string_equal(mtf_error(s), sentence);
    mtf_close(s);
}

static void test_bad_values(void **state)
{
    (void)state;
    refuse_value("'open", "syntax: t.gin:1:1: the string that begins here does not end");
    refuse_value("[1, 2",
                 "syntax: t.gin:1:6: \",\" or \"]\" was expected, not the end of the text");
    refuse_value("[1 2]", "syntax: t.gin:1:4: \",\" or \"]\" was expected, not \"2\"");
    refuse_value("{'a' 1}", "syntax: t.gin:1:6: \":\" was expected, not \"1\"");
    refuse_value("relu",
                 "syntax: t.gin:1:1: a value (a string has quotes, a macro begins with \"%\", a "
                 "name with \"@\") was expected, not \"relu\"");
    refuse_value("12abc", "syntax: t.gin:1:1: a number was expected, not \"12abc\"");
    refuse_value("1e999", "syntax: t.gin:1:1: a number was expected, not \"1e999\"");
    refuse_value("99999999999999999999",
                 "value: t.gin:1:1: 99999999999999999999 is too large for a whole number");
    refuse_value("@a..b", "syntax: t.gin:1:4: the beginning of a name was expected, not \".\"");
    refuse_value("@f(1)", "syntax: t.gin:1:4: \")\": arguments are bindings of their own, and was "
                          "expected, not \"1\"");
    refuse_value("[\n 1,\n $]", "syntax: t.gin:3:2: a value was expected, not \"$\"");
    refuse_value("'\\x00'", "syntax: t.gin:1:6: a string cannot have the character number 0");
    refuse_value("1 2", "syntax: t.gin:1:3: the end of the value was expected, not \"2\"");
}

/* ---- statements ---- */

static mtf_config *open_text(mtf_session *s, const char *text)
{
    return mtf_config_open(
        s, &(mtf_config_opts){.no_defaults = true, .params = (const char *const[]){text, NULL}});
}

static void test_bindings(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    mtf_config  *c = open_text(s, "# a comment\n"
                                   "size = 512\n"
                                   "Unitransformer.d_model = \\\n"
                                   "    %size\n"
                                   "decoder/transformer.Unitransformer.max_length = 7  # after\n"
                                   "\n"
                                   "student/encoder/SelfAttention:\n"
                                   "    num_heads = 4\n"
                                   "\n"
                                   "    key_value_size = 16\r\n"
                                   "Unitransformer.z_loss = 0.0\n");
    if (!c) fail_msg("%s", mtf_error(s));
    const struct {
        const char *scope, *selector, *parameter;
        int         line, column;
    } want[] = {{"", NULL, "size", 2, 1},
                {"", "Unitransformer", "d_model", 3, 1},
                {"decoder", "transformer.Unitransformer", "max_length", 5, 1},
                {"student/encoder", "SelfAttention", "num_heads", 8, 5},
                {"student/encoder", "SelfAttention", "key_value_size", 10, 5},
                {"", "Unitransformer", "z_loss", 11, 1}};
    assert_int_equal(c->gin.nbindings, 6);
    for (int k = 0; k < 6; k++) {
        const gin_binding *b = &c->gin.bindings[k];
        assert_string_equal(b->scope, want[k].scope);
        assert_string_equal(b->selector ? b->selector : "",
                            want[k].selector ? want[k].selector : "");
        assert_string_equal(b->parameter, want[k].parameter);
        assert_int_equal(b->at.line, want[k].line);
        assert_int_equal(b->at.column, want[k].column);
    }
    assert_string_equal(gin_text(&c->gin, c->gin.bindings[1].value), "512");
    close_well(s);
}

static void refuse(const char *text, const char *sentence)
{
    mtf_session     *s = mtf_open_with(NULL);
    mtf_config      *c = open_text(s, text);
    mtf_config_run   run;
    mtf_config_model model;
    if (c) {
        assert_true(!mtf_config_get_run(c, &run) || !mtf_config_get_model(c, 100, 100, &model));
        mtf_config_finish(c);
    }
    assert_string_equal(mtf_error(s), sentence);
    mtf_close(s);
}

static void test_bad_statements(void **state)
{
    (void)state;
    refuse("Unitransformer.d_model 5", "syntax: parameter 1:1:24: \"=\" was expected, not \"5\"");
    refuse("\nUnitransformer.d_model = 5 6",
           "syntax: parameter 1:2:28: the end of the line was expected, not \"6\"");
    refuse("a//b = 1", "syntax: parameter 1:1:3: the beginning of a name was expected, not \"/\"");
    refuse("include nothing", "syntax: parameter 1:1:9: the name of a file in quotes was expected, "
                              "not \"nothing\"");
    refuse("include 'no such file'",
           "file: parameter 1:1:1: there is no file \"no such file\", and "
           "none of that name came with mtf");
    refuse("SelfAttention:\n  a.b = 1", "syntax: parameter 1:2:3: \"a.b\": inside of a block a "
                                        "parameter has its name alone");
}

static void test_unknown_names(void **state)
{
    (void)state;
    refuse("Unitransfomer.d_model = 5", "name: parameter 1:1:1: there is no configurable "
                                        "\"Unitransfomer\"; did you mean \"Unitransformer\"?");
    refuse("x.Unitransformer.d_model = 5",
           "name: parameter 1:1:1: there is no configurable \"x.Unitransformer\"; did you mean "
           "\"Unitransformer\"?");
    refuse("Unitransformer.d_modle = 5", "name: parameter 1:1:1: Unitransformer has no parameter "
                                         "\"d_modle\"; did you mean \"d_model\"?");
    refuse("siez = 1\nsize = 2\nUnitransformer.d_model = %sise\nmake_layer_stack.layers = "
           "[@SelfAttention]\nrun.model_type='lm'\nrun.batch_size=1",
           "name: parameter 1:3:26: there is no macro \"sise\"; did you mean \"size\"?");
}

#define LM "run.batch_size = 1\nrun.model_type = 'lm'\nmake_layer_stack.layers = [@SelfAttention]\n"

static void test_wrong_values(void **state)
{
    (void)state;
    refuse(LM "Unitransformer.d_model = 'x'",
           "value: parameter 1:4:26: Unitransformer.d_model takes a whole number, not 'x'");
    refuse(LM "Unitransformer.d_model = 0",
           "value: parameter 1:4:26: Unitransformer.d_model takes a whole number from 1 on, not 0");
    refuse(LM "Unitransformer.d_model = 1e300",
           "value: parameter 1:4:26: Unitransformer.d_model takes a whole number, not 1e+300");
    refuse(LM "Unitransformer.d_model = -1e300",
           "value: parameter 1:4:26: Unitransformer.d_model takes a whole number, not -1e+300");
    refuse(LM "Unitransformer.d_model = 1e18",
           "value: parameter 1:4:26: Unitransformer.d_model takes a whole number, not 1e+18");
    refuse(LM "Unitransformer.d_model = 2.5",
           "value: parameter 1:4:26: Unitransformer.d_model takes a whole number, not 2.5");
    refuse(LM "a = %b\nb = %a\nUnitransformer.d_model = %a",
           "value: parameter 1:6:26: the macro \"a\" is its own value");
    refuse(LM "Unitransformer.d_model = %gin.REQUIRED",
           "value: parameter 1:4:26: a value must be given here: a later binding was expected");
    refuse(LM "run.model_type = 'ml'",
           "name: parameter 1:4:18: run.model_type: there is no \"ml\"; did you mean \"lm\"?");
    refuse(LM "make_layer_stack.layers = [@SelfAttention,\n  @local_attention_1d]",
           "value: parameter 1:5:3: local_attention_1d is not available in mtf yet");
    refuse(
        LM "make_layer_stack.layers = [@SelfAttention, @MoE1D]\nMoE1D.moe_gating = 'top2'",
        "name: parameter 1:5:20: MoE1D.moe_gating: there is no \"top2\"; did you mean \"top_2\"?");
    refuse(LM "make_layer_stack.layers = [@SelfAtention]",
           "name: parameter 1:4:28: there is no configurable \"SelfAtention\"; did you mean "
           "\"SelfAttention\"?");
    refuse(LM "make_layer_stack.layers = [@EncDecAttention]",
           "value: parameter 1:4:28: EncDecAttention attends to an encoder: it belongs to a "
           "decoder");
    refuse(LM "make_layer_stack.layers = [[@DenseReluDense, {'hiden_size': 8}]]",
           "name: parameter 1:4:47: DenseReluDense has no parameter \"hiden_size\"; did you mean "
           "\"hidden_size\"?");
    refuse(LM "SelfAttention.relative_attention_type = 'biased'",
           "value: parameter 1:4:41: relative_attention_type takes None, 'bias', 'bias_shared' or "
           "'contextual', not 'biased'");
    refuse(LM "LayerStack.dropout_rate = 0.1",
           "value: parameter 1:4:27: LayerStack takes both dropout_rate and norm_epsilon, or "
           "neither");
    refuse(
        LM "SelfAttention.keep_query_heads_dims = True",
        "value: parameter 1:4:39: keep_query_heads_dims leaves the heads in the result, which no "
        "stack of layers takes; BranchedSelfAttention sets it itself");
    refuse(LM "VarianceScalingInitializer.scale = 2.0",
           "value: parameter 1:4:36: VarianceScalingInitializer.scale is not available in mtf with "
           "any "
           "value but 1.0");
    refuse(LM "infer_model.decode_fn = @save_scores",
           "value: parameter 1:4:25: infer_model.decode_fn takes @decode_from_file, "
           "@decode_from_files or @decode_from_dataset, not @save_scores");
    refuse(LM "run.mesh_shape = 'a:2,b:zwei'",
           "value: parameter 1:4:18: run.mesh_shape: the size of an axis is a whole number from 1 "
           "on, not \"zwei\"");
    refuse(
        LM "run.mesh_shape = 'a:2 b'",
        "value: parameter 1:4:18: run.mesh_shape is a list as in 'batch:4,model:2'; \"b\" is not "
        "name:value");
    refuse(LM "run.batch_size = ('tokens_per_batch', 100)\n"
              "run.sequence_length = {'targets': 30}",
           "value: parameter 1:4:18: run.batch_size: 100 tokens are not a whole number of "
           "sequences of "
           "30");
    refuse(LM "run.batch_size = 99999999999",
           "value: parameter 1:4:18: run.batch_size: a batch has at most 16777216 sequences");
    refuse(LM "run.train_dataset_fn = @text_dataset",
           "value: text_dataset.files is not given: a path or a pattern, as 'train-*.tsv'");
    refuse(LM "run.train_dataset_fn = @text_dataset\ntext_dataset.objective = 'span'",
           "name: parameter 1:5:26: text_dataset.objective: there is no \"span\"; did you mean "
           "\"spans\"?");
    refuse(LM "run.train_dataset_fn = @x/text_dataset\nx/text_dataset.pack = 1",
           "value: parameter 1:5:23: text_dataset.pack takes True or False, not 1");
    refuse(LM "run.train_dataset_fn = @text_dataset\ntext_dataset.noise_density = 'x'",
           "value: parameter 1:5:30: text_dataset.noise_density takes a number from 0 to 1, not x");
    refuse(LM "run.vocabulary = @SelfAttention",
           "value: parameter 1:4:18: run.vocabulary: @SelfAttention is neither a vocabulary "
           "nor a dataset");
    refuse(LM "get_variable_dtype.activation_dtype = 'f32'",
           "value: parameter 1:4:39: get_variable_dtype.activation_dtype takes 'float32', "
           "'bfloat16', 'float16' or 'float64', not 'f32'");
    refuse(LM "Unitransformer.sample_autoregressive.sampling_keep_top_k = 0",
           "value: parameter 1:4:60: sampling_keep_top_k takes -1 (all tokens) or a number from 1 "
           "on, not 0");
    refuse(
        "run.batch_size = 1\nmake_layer_stack.layers = [@SelfAttention]\n"
        "decoder/make_layer_stack.layers = [@EncDecAttention]\n"
        "EncDecAttention.relative_attention_type = 'bias'",
        "value: parameter 1:4:43: relative positions in the inputs need the number of sentinels; "
        "bind relative_position_spans.num_sentinels, as to the extra ids of the vocabulary");
#define TALKS                                                                                      \
    "run.batch_size = 1\nrun.model_type = 'lm'\n"                                                  \
    "make_layer_stack.layers = [@TalkingHeadsSelfAttention]\nTalkingHeadsSelfAttention."
    refuse(TALKS "key_heads_dims = (('heads', 6),)",
           "value: parameter 1:4:44: there are 6 of 'heads' here and 12 in another set of heads; "
           "give what differs different names");
    refuse(TALKS "key_heads_dims = (('heads', 6), ('heads', 2))",
           "value: parameter 1:4:44: heads are one to 4 dimensions, as in (('heads', 4), "
           "('key_heads', 3))");
    refuse(TALKS "dynamic_projections = ['x2l', 'l2x']",
           "value: parameter 1:4:49: dynamic_projections takes None or a list of 'x2l', 'm2l', "
           "'x2w' and 'm2w'");
    refuse(
        LM "SelfAttention.attention_kwargs = {'extra_logit': 'x'}",
        "value: parameter 1:4:35: attention_kwargs: \"extra_logit\" is not available in mtf with "
        "this value; 'dropout_broadcast_dims': [], 'extra_logit': 0.0 and 'float32_logits': True "
        "are");
    refuse(LM "LayerStack.sublayers_initial = [@sublayer_annealed_dropout]\n"
              "sublayer_annealed_dropout.start_step = 5",
           "value: parameter 1:5:40: sublayer_annealed_dropout takes init_dropout_rate, from 0 to "
           "below 1, start_step, and end_step, which is later");
    refuse(LM "sublayer_dropout.dropout_rate = 1.5",
           "value: parameter 1:4:33: sublayer_dropout.dropout_rate takes a number from 0 to below "
           "1, not 1.5");
    refuse(LM "make_layer_stack.layer_stack_cls = @ReversibleLayerStack\n"
              "LayerStack.sublayers_per_layer = [@sublayer_call_layer, @sublayer_residual]",
           "value: parameter 1:5:34: a ReversibleLayerStack adds what its layers give; bind "
           "ReversibleLayerStack.sublayers_per_layer without sublayer_residual");
    refuse(LM "shift_targets.bos_id = 5", "value: parameter 1:4:24: shift_targets.bos_id is not "
                                          "available in mtf with any value but 0");
    refuse(LM "Unitransformer.sample_autoregressive.bos_id = -1",
           "value: parameter 1:4:47: bos_id takes a token, not -1");
    refuse(LM "Unitransformer.loss_on_targets_only = True\ndelimited_lm_inputs_mask.eos_id = -1",
           "value: parameter 1:5:35: delimited_lm_inputs_mask.eos_id takes a token, not -1");
    refuse("run.batch_size = 1\nrun.model_type = 'bi_student_teacher'\n"
           "StudentTeacher.temperature = 1.0\nStudentTeacher.fraction_soft = 1.5",
           "value: parameter 1:4:32: StudentTeacher.fraction_soft takes a number from 0 to 1: the "
           "share of the loss that follows the teacher");
}

/* ---- scopes ---- */

static void test_scopes(void **state)
{
    (void)state;
    mtf_session     *s = mtf_open_with(NULL);
    mtf_config_model m;
    mtf_config_run   run;
    mtf_config      *c = open_text(s, "run.batch_size = 1\n"
                                           "make_layer_stack.layers = [@SelfAttention, @x/y/SelfAttention]\n"
                                           "decoder/make_layer_stack.layers = [@EncDecAttention]\n"
                                           "SelfAttention.num_heads = 1\n"
                                           "encoder/SelfAttention.num_heads = 2\n"
                                           "SelfAttention.num_heads = 3\n"
                                           "x/SelfAttention.num_heads = 4\n"
                                           "SelfAttention.relative_attention_type = 'bias'\n"
                                           "y/SelfAttention.num_heads = 5\n");
    assert_non_null(c);
    assert_true(mtf_config_get_run(c, &run));
    assert_true(mtf_config_get_model(c, 100, 0, &m));
    assert_int_equal(m.model.encoder.layers[0].attention.heads, 2);
    assert_int_equal(m.model.encoder.layers[1].attention.heads, 4); /* of x, the prefix of x/y */
    assert_int_equal(m.model.encoder.layers[0].attention.relative, MTF_RELATIVE_BIAS);
    /* a class that is derived takes its parent's parameters, but for its own */
    assert_int_equal(m.model.stack.layers[0].attention.heads, 3);
    assert_int_equal(m.model.stack.layers[0].attention.relative, MTF_RELATIVE_NONE);
    assert_true(mtf_config_finish(c));
    const mtf_config_note *notes;
    assert_int_equal(mtf_config_notes(c, &notes), 1);
    assert_true(notes[0].warning);
    assert_string_equal(notes[0].text, "parameter 1:9:1: y/SelfAttention.num_heads is not used: "
                                       "nothing in this run reads it; it has no scope \"y\"");
    close_well(s);
}

/* ---- files ---- */

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_includes(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_gin_XXXXXX", path[4][64];
    assert_non_null(mkdtemp(folder));
    const char *const names[] = {"main.gin", "inner.gin", "loop.gin", "bad.gin"};
    for (int k = 0; k < 4; k++) snprintf(path[k], sizeof path[k], "%s/%s", folder, names[k]);
    write_file(path[0], "import mesh_tensorflow.transformer  # all of it\n"
                        "size = 1\ninclude 'inner.gin'\ninclude 'single'\nsize = 3\n");
    write_file(path[1], "size = 2\nUnitransformer.d_model = %size\n");
    write_file(path[2], "include 'loop.gin'\n");
    write_file(path[3], "\n  include 'inner.gin'\nUnitransformer.d_model = [\n");

    mtf_session *s = mtf_open_with(NULL);
    mtf_config  *c = mtf_config_open(
         s, &(mtf_config_opts){.files = (const char *const[]){path[0], NULL}, .no_defaults = true});
    if (!c) fail_msg("%s", mtf_error(s));
    assert_string_equal(gin_text(&c->gin, c->gin.bindings[2].value), "3"); /* the last of all */
    const mtf_config_note *notes;
    assert_int_equal(mtf_config_notes(c, &notes), 1);
    assert_false(notes[0].warning);
    assert_contains(notes[0].text, "main.gin:1:1: \"import mesh_tensorflow.transformer");
    close_well(s);

    s = mtf_open_with(NULL);
    assert_null(
        mtf_config_open(s, &(mtf_config_opts){.files = (const char *const[]){path[2], NULL}}));
    assert_contains(mtf_error(s), "loop.gin:1:1: more than 20 files include each other");
    mtf_close(s);

    s = mtf_open_with(NULL); /* found in a folder that is given */
    assert_null(
        mtf_config_open(s, &(mtf_config_opts){.files = (const char *const[]){"bad.gin", NULL},
                                              .folders = (const char *const[]){folder, NULL}}));
    assert_contains(mtf_error(s), "bad.gin:4:1: a value was expected, not the end of the text");
    mtf_close(s);

    FILE *f = fopen(path[3], "wb");
    assert_non_null(f);
    assert_int_equal(fwrite("a = 1\0", 1, 6, f), 6);
    fclose(f);
    s = mtf_open_with(NULL);
    assert_null(
        mtf_config_open(s, &(mtf_config_opts){.files = (const char *const[]){path[3], NULL}}));
    assert_contains(mtf_error(s), "bad.gin\" is not a text: it has a zero byte");
    mtf_close(s);
    for (int k = 0; k < 4; k++) unlink(path[k]);
    rmdir(folder);
}

static void test_skip_unknown(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    mtf_config  *c =
        mtf_config_open(s, &(mtf_config_opts){.no_defaults = true,
                                              .skip_unknown = true,
                                              .params = (const char *const[]){
                                                  "my_task.size = 3\nrun.sped = 1", NULL}});
    const mtf_config_note *notes;
    assert_non_null(c);
    assert_int_equal(mtf_config_notes(c, &notes), 2);
    assert_string_equal(notes[0].text,
                        "parameter 1:1:1: there is no configurable \"my_task\" with a "
                        "\"size\": it is left out");
    assert_string_equal(notes[1].text,
                        "parameter 1:2:1: run has no parameter \"sped\": it is left out");
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),         cmocka_unit_test(test_texts),
        cmocka_unit_test(test_bad_values),     cmocka_unit_test(test_bindings),
        cmocka_unit_test(test_bad_statements), cmocka_unit_test(test_unknown_names),
        cmocka_unit_test(test_wrong_values),   cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_includes),       cmocka_unit_test(test_skip_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
