/* Tests BERT with its options and heads against the same in PyTorch.
 *
 * tests/reference/bert_values.txt has the losses of all heads together, and of each variable's gradient a weighted
 * sum and the size.  Variables have values that follow from their names.
 */
#include "graph/node.h"
#include "model/bert/bert_presets.h"
#include "mtf_bert.h"
#include "stored_values.h"

#include "ground.h"

enum { BATCH = 3, LENGTH = 7, PREDICTIONS = 2, CLASSES = 3, VARIABLES = 100 };
enum { VOCAB = 50, TYPES = 3 };

static const struct {
    const char *mesh, *layout;
} places[] = {
    {NULL, NULL},
    {"a:2", "batch:a"},
    {"a:3", "num_heads:a,vocab:a,intermediate:a?"},
    {"a:2,b:2", "batch:a,num_heads:b,intermediate:b?,vocab:b,experts:a?,expert_hidden:b?"},
    {"a:2", "seq:a"},
    {"a:2,b:2", "memory_seq:a,hidden:b"}};
enum { PLACES = sizeof places / sizeof *places };

/* ---- models ---- */

typedef struct sample {
    const char   *what;
    mtf_bert_opts opts;
    bool          bare; /* without mask and segments */
} sample;

static const sample samples[] = {
    {.what = "original"},
    {.what = "direct, relative, no bias, relu",
     .opts = {.residual = MTF_BERT_RESIDUAL_DIRECT,
              .positions = MTF_BERT_POSITIONS_RELATIVE,
              .no_bias = true,
              .activation = "relu"}},
    {.what = "relative, large epsilon",
     .opts = {.positions = MTF_BERT_POSITIONS_RELATIVE, .epsilon = 0.1, .activation = "tanh"}},
    {.what = "no mask, no segments", .bare = true},
    {.what = "composed", .opts = {.positions = MTF_BERT_POSITIONS_RELATIVE, .composed = true}},
    {.what = "talking heads",
     .opts =
         {.residual = MTF_BERT_RESIDUAL_DIRECT, .key_heads = 2, .value_heads = 5, .value_size = 6}},
    {.what = "two attentions",
     .opts = {.residual = MTF_BERT_RESIDUAL_DIRECT,
              .block_layers = "attention,feedforward,attention"}},
    {.what = "one expert",
     .opts = {.block_layers = "attention,moe",
              .moe_num_experts = 1,
              .moe_intermediate_size = 10,
              .moe = {.gating = "top_k", .k = 1, .dropless = true, .loss_coef = -1}}},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static mtf_bert_opts small(mtf_bert_opts o)
{
    o.vocab_size = VOCAB;
    o.d_model = 12;
    o.num_blocks = 2;
    o.num_heads = 3;
    o.type_vocab = TYPES;
    o.max_positions = 9;
    o.intermediate_size = 10;
    return o;
}

static mtf_bert_opts without_dropout(mtf_bert_opts o)
{
    o.output_dropout = o.attention_dropout = o.intermediate_dropout = -1;
    return o;
}

/* ---- what both sides read ---- */

static const mtf_dim batch = {"batch", BATCH}, seq = {"seq", LENGTH};
static const mtf_dim predictions = {"predictions", PREDICTIONS};

/* i * 11 + first, below `below`. */
static mtf_tensor *numbers(mtf_graph *g, mtf_shape shape, int first, int below)
{
    int32_t x[BATCH * LENGTH];
    int64_t n = mtf_shape_size(shape);
    for (int64_t i = 0; i < n; i++) x[i] = (int32_t)((i * 11 + first) % below);
    return mtf_constant_data(g, x, MTF_I32, shape);
}

static mtf_tensor *padding_of(mtf_graph *g)
{
    int32_t mask[BATCH * LENGTH];
    for (int i = 0; i < BATCH * LENGTH; i++)
        mask[i] = !((i / LENGTH == 2 && i % LENGTH >= 5) || i == LENGTH + 6);
    return mtf_constant_data(g, mask, MTF_I32, mtf_shape(batch, seq));
}

static mtf_tensor *weights_of(mtf_graph *g)
{
    const float weights[BATCH * PREDICTIONS] = {1, 1, 1, 0, 1, 1};
    return mtf_constant_data(g, weights, MTF_F32, mtf_shape(batch, predictions));
}

static mtf_bert_output apply(mtf_session *s, mtf_graph *g, const mtf_bert_opts *o, bool bare,
                             bool training)
{
    mtf_shape      rows = mtf_shape(batch, seq);
    mtf_bert_batch b = {.input_ids = numbers(g, rows, 3, VOCAB)};
    if (!bare) b.input_mask = padding_of(g), b.segment_ids = numbers(g, rows, 1, TYPES);
    return mtf_bert_apply(mtf_bert_new(s, o), &b, &(mtf_bert_call){.training = training});
}

static mtf_tensor *all_losses(const mtf_bert_output *o, mtf_graph *g)
{
    mtf_shape       masked = mtf_shape(batch, predictions), rows = mtf_shape(batch);
    mtf_dim         classes = {"classes", CLASSES};
    mtf_bert_result words = mtf_bert_masked_words(o, numbers(g, masked, 2, LENGTH),
                                                  numbers(g, masked, 5, VOCAB), weights_of(g));
    mtf_bert_result next = mtf_bert_next_sentence(o, numbers(g, rows, 1, 2));
    mtf_bert_result class = mtf_bert_classify(o, classes, -1, numbers(g, rows, 2, CLASSES));
    mtf_bert_result span =
        mtf_bert_span(o, numbers(g, rows, 1, LENGTH), numbers(g, rows, 4, LENGTH));
    return mtf_add(mtf_add(words.loss, next.loss), mtf_add(class.loss, span.loss));
}

/* ---- values ---- */

static void check_sample(reference *r, const sample *k, int place)
{
    mtf_session *s = open_as_asked(
        &(mtf_session_opts){.mesh = places[place].mesh, .layout = places[place].layout});
    mtf_graph      *g = mtf_graph_new(s);
    mtf_bert_opts   o = without_dropout(small(k->opts));
    mtf_bert_output out = apply(s, g, &o, k->bare, true);
    mtf_tensor     *loss = all_losses(&out, g), *variables[VARIABLES], *fetches[VARIABLES + 1];
    if (!mtf_ok(s)) fail_msg("%s: %s", k->what, mtf_error(s));
    reference_find(r, k->what);
    int n = mtf_variables(g, variables, VARIABLES);
    if (n != r->count) fail_msg("%s: %d variables instead of %d", k->what, n, r->count);
    mtf_gradients(1, &loss, n, variables, NULL, fetches);
    for (int i = 0; i < n; i++)
        if (!fetches[i]) fetches[i] = mtf_zeros_like(variables[i]);
    fetches[n] = loss;
    mtf_program *p = mtf_compile_n(g, n + 1, fetches);
    set_variables(g);
    mtf_step(p);
    if (!mtf_ok(s)) fail_msg("%s, %s: %s", k->what, places[place].layout, mtf_error(s));
    double got = mtf_fetch_scalar(p, loss);
    if (fabs(got - r->loss) > 1e-5 * fabs(r->loss))
        fail_msg("%s, %s: the loss is %.9g instead of %.9g", k->what, places[place].layout, got,
                 r->loss);
    for (int i = 0; i < n; i++) check_gradient(r, k->what, p, variables[i], fetches[i]);
    close_well(s);
}

static void test_values(void **state)
{
    reference r = {.text = read_text(MTF_SOURCE_DIR "/tests/reference/bert_values.txt")};
    int       each = asked_much(PLACES, 2);
    (void)state;
    for (int k = 0; k < SAMPLES; k++)
        for (int i = 0; i < each; i++) check_sample(&r, &samples[k], (k + i) % PLACES);
    assert_int_equal(occurrences(r.text, "\nmodel ") + 1, SAMPLES);
    free(r.text);
}

/* ---- what counts as right ---- */

static int best_of(const float *logits)
{
    int best = 0;
    for (int k = 1; k < LENGTH; k++)
        if (logits[k] > logits[best]) best = k;
    return best;
}

/* Predictions for both ends of spans, and whether these ends count as right. */
static void spans_of(int32_t ends[2][BATCH], int32_t best[2][BATCH], float right[BATCH])
{
    mtf_session    *s = open_as_asked(&(mtf_session_opts){0});
    mtf_graph      *g = mtf_graph_new(s);
    mtf_bert_opts   o = small((mtf_bert_opts){0});
    mtf_bert_output out = apply(s, g, &o, true, false);
    mtf_tensor     *at[2];
    for (int e = 0; e < 2; e++) at[e] = mtf_constant_data(g, ends[e], MTF_I32, mtf_shape(batch));
    mtf_bert_result r = mtf_bert_span(&out, at[0], at[1]);
    mtf_tensor     *fetches[] = {r.right, r.logits, r.last_logits};
    mtf_program    *p = mtf_compile_n(g, 3, fetches);
    if (!mtf_ok(s)) fail_msg("%s", mtf_error(s));
    set_variables(g);
    mtf_step(p);
    assert_true(mtf_fetch(p, r.right, right));
    for (int e = 0; e < 2; e++) {
        float logits[BATCH][LENGTH];
        assert_true(mtf_fetch(p, fetches[1 + e], logits));
        for (int b = 0; b < BATCH; b++) best[e][b] = best_of(logits[b]);
    }
    close_well(s);
}

static void test_right_spans(void **state)
{
    int32_t ends[2][BATCH] = {{0}}, best[2][BATCH];
    float   right[BATCH];
    (void)state;
    spans_of(ends, best, right);
    for (int b = 0; b < BATCH; b++)
        for (int e = 0; e < 2; e++)
            ends[e][b] = (best[e][b] + (b == 1 + e)) % LENGTH; /* each end alone is wrong once */
    spans_of(ends, best, right);
    for (int b = 0; b < BATCH; b++) assert_true(right[b] == (b == 0 || b > 2));
}

/* ---- dropout ---- */

/* The sum of squares of the last layer after one step. */
static double power_of(mtf_bert_opts o, bool training)
{
    mtf_session    *s = open_as_asked(&(mtf_session_opts){.seed = 5});
    mtf_graph      *g = mtf_graph_new(s);
    mtf_bert_output out = apply(s, g, &o, false, training);
    mtf_tensor     *power = mtf_reduce_sum(mtf_square(mtf_add_scalar(out.sequence, 1)), MTF_ALL);
    mtf_program    *p = mtf_compile(g, power);
    if (!mtf_ok(s)) fail_msg("%s", mtf_error(s));
    set_variables(g);
    mtf_step(p);
    double got = mtf_fetch_scalar(p, power);
    close_well(s);
    return got;
}

/* Each rate by itself changes what training gives, and never what evaluation gives. */
static void test_dropout(void **state)
{
    (void)state;
    for (int composed = 0; composed < 2; composed++) {
        mtf_bert_opts none = without_dropout(small((mtf_bert_opts){.composed = composed}));
        double        plain = power_of(none, true);
        for (int k = 0; k < 3; k++) {
            mtf_bert_opts o = none;
            *(k == 0   ? &o.output_dropout
              : k == 1 ? &o.attention_dropout
                       : &o.intermediate_dropout) = 0.5;
            if (fabs(power_of(o, true) - plain) < 1e-5 * plain)
                fail_msg("dropout %d changes nothing in training", k);
            assert_true(fabs(power_of(o, false) - plain) < 1e-6 * plain);
        }
    }
}

/* ---- what mixtures add, and tables ---- */

static void test_experts(void **state)
{
    mtf_session *s =
        open_as_asked(&(mtf_session_opts){.mesh = "a:2", .layout = "batch:a,experts:a"});
    mtf_graph    *g = mtf_graph_new(s);
    mtf_bert_opts o = small((mtf_bert_opts){.block_layers = "attention,feedforward,attention,moe",
                                            .moe_num_experts = 4,
                                            .moe_intermediate_size = 5});
    (void)state;
    mtf_bert_output out = apply(s, g, &o, false, true), quiet = apply(s, g, &o, false, false);
    assert_int_equal(out.nlayers, 8);
    assert_null(quiet.auxiliary);
    mtf_tensor *loss = mtf_add(all_losses(&out, g), out.auxiliary), *fetches[2] = {loss};
    mtf_tensor *wi = mtf_find(g, "bert/encoder/block_001/moe/wi/kernel");
    mtf_gradients(1, &loss, 1, &wi, NULL, &fetches[1]);
    mtf_program *p = mtf_compile_n(g, 2, fetches);
    float        gradient[4 * 12 * 5];
    mtf_step(p);
    if (!mtf_ok(s)) fail_msg("%s", mtf_error(s));
    assert_true(mtf_fetch_scalar(p, loss) > 0);
    mtf_fetch(p, fetches[1], gradient);
    double size = 0;
    for (int i = 0; i < 4 * 12 * 5; i++) size += (double)gradient[i] * (double)gradient[i];
    assert_true(size > 0);
    close_well(s);
}

/* The deviation of a variable's initial values. */
static double deviation_of(double range, const char *name, int64_t n)
{
    mtf_session    *s = open_as_asked(&(mtf_session_opts){0});
    mtf_graph      *g = mtf_graph_new(s);
    mtf_bert_opts   o = small((mtf_bert_opts){.initializer_range = range});
    float          *x = malloc((size_t)n * sizeof *x);
    double          sum = 0;
    mtf_bert_output out = apply(s, g, &o, false, false);
    mtf_compile(g, out.pooled);
    if (!mtf_variable_get(mtf_find(g, name), x)) fail_msg("%s", mtf_error(s));
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    free(x);
    close_well(s);
    return sqrt(sum / (double)n);
}

/* Truncation at two deviations takes 12 % away. */
static void test_initial_weights(void **state)
{
    const char *table = "bert/embeddings/word_embeddings", *kernel = "bert/pooler/kernel";
    (void)state;
    assert_true(fabs(deviation_of(0, table, 128 * 12) / (0.88 * 0.02) - 1) < 0.1);
    assert_true(fabs(deviation_of(0.3, kernel, 144) / (0.88 * 0.3) - 1) < 0.2);
    assert_true(fabs(deviation_of(-1, kernel, 144) / (0.88 * sqrt(0.4 / 12)) - 1) < 0.2);
}

/* ---- what is refused ---- */

static void refused(mtf_bert_opts o, const char *words)
{
    mtf_session *s = mtf_open_with(NULL);
    assert_null(mtf_bert_new(s, &o));
    assert_contains(mtf_error(s), words);
    mtf_close(s);
}

static void test_wrong_options(void **state)
{
    (void)state;
    refused((mtf_bert_opts){0}, "vocab_size is 0");
    refused((mtf_bert_opts){.vocab_size = 9, .d_model = 10}, "12 heads do not divide");
    refused((mtf_bert_opts){.vocab_size = 9, .attention_dropout = 1}, "attention_dropout is 1");
    refused((mtf_bert_opts){.vocab_size = 9, .activation = "gellu"}, "did you mean \"gelu\"?");
    refused((mtf_bert_opts){.vocab_size = 9, .block_layers = "attention,feed"},
            "\"feed\" in block_layers");
    refused((mtf_bert_opts){.vocab_size = 9, .block_layers = ""}, "\"\" in block_layers");
}

static void test_wrong_batches(void **state)
{
    mtf_session  *s = mtf_open_with(NULL);
    mtf_graph    *g = mtf_graph_new(s);
    mtf_bert_opts o = small((mtf_bert_opts){0});
    (void)state;
    o.max_positions = 6;
    mtf_bert_output none = apply(s, g, &o, false, true);
    assert_null(none.sequence);
    assert_null(mtf_bert_next_sentence(&none, NULL).logits);
    assert_contains(mtf_error(s), "has 7 positions, but the model learns 6");
    mtf_close(s);
}

/* ---- configurations ---- */

static bool read_json(mtf_session *s, const char *text, mtf_bert_opts *o)
{
    const char *path = "/tmp/mtf_bert_config.json";
    FILE       *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    bool ok = mtf_bert_read_config(s, path, o);
    remove(path);
    return ok;
}

static void test_configurations(void **state)
{
    mtf_session  *s = mtf_open_with(NULL);
    mtf_bert_opts o;
    (void)state;
    assert_true(read_json(
        s,
        "{\"vocab_size\": 100, \"d_model\": 24, \"num_blocks\": 3, \"position_signal\": "
        "\"relative_attention_bias\", \"block_layers\": [\"attention\", \"moe\"], "
        "\"residual_structure\": \"direct\", \"use_bias\": false, \"initializer_range\": 0, "
        "\"layer_output_dropout_prob\": 0.0, \"feedforward_intermediate_act\": \"relu\"}",
        &o));
    assert_int_equal(o.d_model, 24);
    assert_int_equal(o.num_blocks, 3);
    assert_true(o.positions == MTF_BERT_POSITIONS_RELATIVE && o.no_bias);
    assert_true(o.residual == MTF_BERT_RESIDUAL_DIRECT && o.initializer_range < 0);
    assert_true(o.output_dropout < 0 && o.attention_dropout == 0);
    assert_string_equal(o.block_layers, "attention,moe");
    assert_string_equal(o.activation, "relu");
    assert_true(read_json(s,
                          "{\"vocab_size\": 9, \"hidden_size\": 8, \"num_attention_heads\": 2, "
                          "\"hidden_act\": \"gelu\", \"hidden_dropout_prob\": 0.2}",
                          &o));
    assert_true(o.d_model == 8 && o.num_heads == 2 && o.output_dropout == 0.2);
    assert_true(o.type_vocab == 0 && o.epsilon == 0);
    assert_string_equal(o.activation, "gelu");
    assert_true(read_json(s, "{\"model_type\": \"bert\", \"vocab_size\": 9}", &o));
    assert_true(o.type_vocab == 2 && o.epsilon == 1e-12);
    assert_string_equal(o.activation, "gelu_exact");
    close_well(s);
}

/* The original's, by name: heads of 64 each. */
static void test_presets(void **state)
{
    static const struct {
        const char *name;
        int64_t     d_model, blocks;
    } known[] = {{"base", 768, 12}, {"large", 1024, 24}, {"xl_v2", 2048, 24}, {"xxl_v2", 4096, 24}};
    mtf_session  *s = mtf_open_with(NULL);
    mtf_bert_opts o;
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_true(mtf_bert_read_config(s, known[i].name, &o));
        assert_true(o.d_model == known[i].d_model && o.num_blocks == known[i].blocks);
        assert_int_equal(o.d_model / o.num_heads, 64);
        assert_int_equal(o.no_bias, i > 1);
    }
    for (int i = 0; bert_preset_nth(i); i++) {
        assert_true(mtf_bert_read_config(s, bert_preset_nth(i), &o));
        assert_non_null(mtf_bert_new(s, &o));
    }
    assert_false(mtf_bert_read_config(s, "bas", &o));
    assert_contains(mtf_error(s), "did you mean \"base\"?");
    mtf_close(s);
}

static void wrong_json(const char *text, const char *words)
{
    mtf_session  *s = mtf_open_with(NULL);
    mtf_bert_opts o;
    assert_false(read_json(s, text, &o));
    assert_contains(mtf_error(s), words);
    mtf_close(s);
}

static void test_wrong_configurations(void **state)
{
    (void)state;
    wrong_json("[]", "is not a JSON object");
    wrong_json("{}", "\"vocab_size\" must be a whole number");
    wrong_json("{\"vocab_size\": 9, \"hidden_size\": 1.5}", "\"hidden_size\" must be");
    wrong_json("{\"vocab_size\": 9, \"residual_structure\": \"pre\"}",
               "\"original\" or \"direct\"");
    wrong_json("{\"vocab_size\": 9, \"hidden_dropout_prob\": 1}", "not including, 1");
    wrong_json("{\"vocab_size\": 9, \"model_type\": \"gpt2\"}", "\"model_type\" must be \"bert\"");
    wrong_json("{\"vocab_size\": 9, \"model_type\": \"bert\", \"hidden_act\": \"gell\"}",
               "does not know");
    wrong_json("{\"vocab_size\": 9, \"model_type\": \"bert\", \"position_embedding_type\": "
               "\"relative_key\"}",
               "\"absolute\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_spans),     cmocka_unit_test(test_values),
        cmocka_unit_test(test_dropout),         cmocka_unit_test(test_experts),
        cmocka_unit_test(test_initial_weights), cmocka_unit_test(test_wrong_options),
        cmocka_unit_test(test_wrong_batches),   cmocka_unit_test(test_presets),
        cmocka_unit_test(test_configurations),  cmocka_unit_test(test_wrong_configurations)};
    return cmocka_run_group_tests_name("bert", tests, NULL, NULL);
}
