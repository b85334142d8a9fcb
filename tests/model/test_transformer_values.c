/* Tests every option of Transformers against the same in PyTorch.
 *
 * tests/reference/transformer_values.txt has the loss of each model, and of each variable's gradient a
 * weighted sum and the size.  Variables have values that follow from their names.
 */
#include "graph/node.h"
#include "small_models.h"
#include "stored_values.h"

#include "ground.h"

static share mine; /* of the models */

enum { BATCH = 3, LENGTH = 7, INPUTS = 5, VARIABLES = 100, OTHER_END = 49 };

/* ---- models that small_models does not have: most of them cannot be decoded ---- */

typedef struct more {
    const char            *what;
    mtf_transformer_opts   opts;
    mtf_attention_layer    attention;
    mtf_feed_forward_layer feed_forward;
    bool                   encoder, distilled;
    double                 soft;             /* of the distilled */
    bool                   evaluates;        /* not in training */
    bool                   packed, negative; /* several examples in a row; targets without loss */
} more;

#define BUCKETS .buckets = 8, .max_distance = 12

static const char *const scale_layers[] = {"scale_norm", "call_layer", "residual", NULL};
static const char *const scale_final[] = {"scale_norm", NULL};

static const more mores[] = {
    {.what = "hybrid", .attention = {.hybrid = true}},
    {.what = "scale norm, gated gelu, biases",
     .feed_forward = {.activation = {"gelu", "linear"}, .bias = true},
     .opts = {.stack = {.per_layer = scale_layers, .final = scale_final}}},
    {.what = "large z-loss, own denominator", .opts = {.z_loss = 0.05, .loss_denominator = 5}},
    {.what = "loss on targets only", .opts = {.prefix = true, .loss_on_targets_only = true}},
    {.what = "another end",
     .opts = {.prefix = true, .loss_on_targets_only = true, .end = OTHER_END}},
    {.what = "bidirectional",
     .opts = {.bidirectional = true},
     .attention = {.relative = MTF_RELATIVE_BIAS_SHARED, BUCKETS}},
    {.what = "separate embeddings", .encoder = true, .opts = {.separate_embedding = true}},
    {.what = "distilled", .distilled = true, .soft = 0.25},
    {.what = "distilled encoder and decoder", .encoder = true, .distilled = true, .soft = 0.25},
    {.what = "distilled without a teacher's share", .distilled = true, .soft = -1},
    {.what = "mean probability", .evaluates = true, .opts = {.ensemble = 2}},
    {.what = "mean logit",
     .evaluates = true,
     .opts = {.ensemble = 2, .ensemble_output = MTF_ENSEMBLE_MEAN_LOGIT}},
    {.what = "second member",
     .evaluates = true,
     .opts = {.ensemble = 2, .ensemble_output = MTF_ENSEMBLE_SELECT, .ensemble_member = 1}},
    {.what = "grouped queries, relative bias, extra logit",
     .attention = {.memory_heads = 2, .relative = MTF_RELATIVE_BIAS, .extra_logit = true, BUCKETS}},
    {.what = "packed",
     .packed = true,
     .attention = {.relative = MTF_RELATIVE_BIAS_SHARED, BUCKETS}},
    {.what = "packed, negative targets",
     .packed = true,
     .negative = true,
     .attention = {.window = 2}},
    {.what = "bidirectional, window", .opts = {.bidirectional = true}, .attention = {.window = 2}},
};
enum { MORES = sizeof mores / sizeof *mores };

static mtf_transformer_layer attention_of(const more *m, bool to_encoder)
{
    mtf_transformer_layer l = {.kind = to_encoder ? MTF_ENC_DEC_ATTENTION : MTF_SELF_ATTENTION};
    if (!to_encoder) l.attention = m->attention;
    l.attention.heads = 4;
    l.attention.kv = 8;
    return l;
}

static mtf_transformer *more_model(mtf_session *s, const more *m)
{
    mtf_transformer_opts  o = m->opts;
    mtf_transformer_layer forward = {.kind = MTF_FEED_FORWARD, .feed_forward = m->feed_forward};
    forward.feed_forward.hidden = 24;
    mtf_transformer_layer layers[4] = {attention_of(m, false), forward};
    mtf_transformer_layer encoder[3] = {
        {.kind = MTF_SELF_ATTENTION,
         .attention = {.heads = 4, .kv = 8, .relative = MTF_RELATIVE_BIAS_SHARED, BUCKETS}},
        forward};
    if (m->encoder) layers[1] = attention_of(m, true), layers[2] = forward;
    o.d_model = 16;
    o.input_vocab = SMALL_VOCAB;
    o.vocab_divisor = 8;
    o.stack.layers = layers;
    o.stack.blocks = 2;
    o.stack.max_length = 40;
    if (m->encoder)
        o.encoder = (mtf_stack_opts){
            .layers = encoder, .blocks = 2, .positions = MTF_POSITIONS_NONE, .max_length = 20};
    return mtf_transformer_new(s, &o);
}

/* ---- one list of all ---- */

static const more *more_of(int k)
{
    return k >= small_models() ? &mores[k - small_models()] : NULL;
}

static mtf_transformer_result apply(mtf_session *s, int k, mtf_transformer_batch *b,
                                    const char **what)
{
    const more          *m = more_of(k);
    mtf_transformer_call how = {.training = true};
    if (!m) return mtf_transformer_apply(small_model(s, k, false, what), b, &how);
    *what = m->what;
    mtf_transformer *model = more_model(s, m);
    how.training = !m->evaluates;
    if (!m->distilled) return mtf_transformer_apply(model, b, &how);
    return mtf_transformer_distill(model, more_model(s, m), b, &how,
                                   &(mtf_distill_opts){.temperature = 2, .fraction_soft = m->soft});
}

/* ---- what both sides read ---- */

static void tokens(int64_t n, int32_t *ids, int first)
{
    for (int64_t i = 0; i < n; i++) ids[i] = (int32_t)(2 + (i * 7 + first) % (SMALL_VOCAB - 3));
}

/* Two examples and padding in each row. */
static void set_packing(mtf_graph *g, mtf_transformer_batch *b)
{
    static const int32_t segment[LENGTH] = {1, 1, 1, 2, 2, 2, 0},
                         position[LENGTH] = {0, 1, 2, 0, 1, 2, 0};
    mtf_shape row = mtf_shape((mtf_dim){"length", LENGTH});
    mtf_shape all = mtf_shape((mtf_dim){"batch", BATCH}, row.dims[0]);
    b->targets_segment = mtf_broadcast(mtf_constant_data(g, segment, MTF_I32, row), all);
    b->targets_position = mtf_broadcast(mtf_constant_data(g, position, MTF_I32, row), all);
}

static void set_tokens(const more *m, int64_t given, int32_t *ids, int32_t *inputs)
{
    tokens(BATCH * LENGTH, ids, 3);
    tokens(BATCH * given, inputs, 1);
    for (int row = 0; row < BATCH; row++) {
        int32_t *of = ids + row * LENGTH;
        of[2] = of[5] = m && m->opts.end ? m->opts.end : 1;
        if (m && m->packed) of[6] = 0;
        if (m && m->negative) of[1] *= -1;
    }
    ids[LENGTH - 1] = inputs[2 * given - 1] = 0; /* padding */
}

static void check_model(reference *r, int k)
{
    const more  *m = more_of(k);
    bool         labels = m && m->opts.bidirectional;
    const char  *what = NULL;
    mtf_session *s = open_as_asked(&(mtf_session_opts){0});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      batch = {"batch", BATCH}, length = {"length", LENGTH};
    mtf_dim      given = {"length", labels ? LENGTH : INPUTS};
    bool         reads = m ? m->encoder || labels : small_model_has_encoder(k);
    mtf_tensor  *in = reads ? mtf_input(g, "inputs", MTF_I32, mtf_shape(batch, given)) : NULL;
    mtf_tensor  *targets = mtf_input(g, "targets", MTF_I32, mtf_shape(batch, length));
    mtf_tensor  *variables[VARIABLES], *fetches[VARIABLES + 1];
    mtf_transformer_batch b = {.inputs = in, .targets = targets};
    if (m && m->packed) set_packing(g, &b);
    mtf_transformer_result y = apply(s, k, &b, &what);
    if (!mtf_ok(s)) fail_msg("%s: %s", what, mtf_error(s));
    reference_find(r, what);
    int n = mtf_variables(g, variables, VARIABLES);
    if (n != r->count) fail_msg("%s: %d variables instead of %d", what, n, r->count);
    mtf_gradients(1, &y.loss, n, variables, NULL, fetches);
    fetches[n] = y.loss;
    mtf_program *p = mtf_compile_n(g, n + 1, fetches);
    set_variables(g);
    int32_t ids[BATCH * LENGTH], inputs[BATCH * LENGTH];
    set_tokens(m, given.size, ids, inputs);
    mtf_feed(p, targets, ids);
    if (in) mtf_feed(p, in, inputs);
    mtf_step(p);
    if (!mtf_ok(s)) fail_msg("%s: %s", what, mtf_error(s));
    double loss = mtf_fetch_scalar(p, y.loss);
    if (fabs(loss - r->loss) > 1e-5 * fabs(r->loss))
        fail_msg("%s: the loss is %.9g instead of %.9g", what, loss, r->loss);
    for (int i = 0; i < n; i++) check_gradient(r, what, p, variables[i], fetches[i]);
    close_well(s);
}

static void test_every_option(void **state)
{
    reference r = {.text = read_text(MTF_SOURCE_DIR "/tests/reference/transformer_values.txt")};
    (void)state;
    int compared = 0;
    for (int k = 0; k < small_models() + MORES; k++) {
        if (!more_of(k) && small_model_elsewhere(k)) continue;
        if (share_has(mine, k)) check_model(&r, k);
        compared++;
    }
    assert_int_equal(occurrences(r.text, "\nmodel ") + 1, compared);
    free(r.text);
}

int main(int argc, char **argv)
{
    share_read(argc > 1 ? argv[1] : NULL, &mine);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_option)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
