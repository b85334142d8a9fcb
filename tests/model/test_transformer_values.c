/* Tests every option of Transformers against the same in PyTorch.
 *
 * tests/reference/transformer_values.txt has the loss of each model, and of each variable's gradient a
 * weighted sum and the size.  Variables have values that follow from their names.
 */
#include "graph/node.h"
#include "small_models.h"

#include "ground.h"

static share mine; /* of the models */

enum {
    BATCH = 3,
    LENGTH = 7,
    INPUTS = 5,
    VARIABLES = 100,
    ELEMENTS = 4096,
    NAME = 200,
    OTHER_END = 49
};

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
    return k >= small_models_by_torch() ? &mores[k - small_models_by_torch()] : NULL;
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

/* ---- numbers that both sides make ---- */

/* From -0.5 to 0.5, by name and index. */
static double noise(const char *name, uint32_t i)
{
    uint32_t h = 2166136261u;
    for (const char *c = name; *c; c++) h = (h ^ (unsigned char)*c) * 16777619u;
    h ^= i * 0x9E3779B1u;
    h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
    h = (h ^ (h >> 13)) * 0xC2B2AE35u;
    h ^= h >> 16;
    return h / 4294967296.0 - 0.5;
}

static void set_variable(mtf_tensor *v)
{
    static const char *const positive[] = {"scale", "rezero_weight", "hybrid_attention_mix"};
    const char              *name = tensor_name(v), *slash = strrchr(name, '/');
    float                    x[ELEMENTS];
    int64_t                  n = mtf_shape_size(mtf_shape_of_tensor(v));
    bool                     scale = false;
    assert_true(n <= ELEMENTS);
    for (int k = 0; k < 3; k++) scale = scale || strcmp(slash + 1, positive[k]) == 0;
    for (int64_t i = 0; i < n; i++) {
        double u = noise(name, (uint32_t)i);
        x[i] = (float)(scale ? 0.75 + 0.5 * u : 1.2 * u);
    }
    assert_true(mtf_variable_set(v, x));
}

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

/* ---- the reference ---- */

/* Its lines: "model WHAT", "loss X", then "NAME SUM SIZE" or "NAME frozen" for each variable. */
typedef struct reference {
    char  *text;
    double loss;
    char  *variables; /* the first line of them */
    int    count;     /* of trainable ones */
} reference;

static void reference_find(reference *r, const char *what)
{
    char wanted[NAME];
    snprintf(wanted, sizeof wanted, "model %s\nloss ", what);
    char *at = strstr(r->text, wanted), *line;
    if (!at) fail_msg("there is no reference for \"%s\"", what);
    r->loss = strtod(at + strlen(wanted), &r->variables);
    r->count = 0;
    for (line = ++r->variables; *line && strncmp(line, "model ", 6) != 0; r->count++) {
        char *end = strchr(line, '\n');
        if (strncmp(end - 7, " frozen", 7) == 0) r->count--;
        line = end + 1;
    }
}

static void reference_variable(const reference *r, const char *name, double *sum, double *size)
{
    size_t n = strlen(name);
    for (char *line = r->variables; *line && strncmp(line, "model ", 6) != 0;) {
        if (strncmp(line, name, n) == 0 && line[n] == ' ' && line[n + 1] != 'f') {
            char *next;
            *sum = strtod(line + n, &next);
            *size = strtod(next, NULL);
            return;
        }
        line = strchr(line, '\n') + 1;
    }
    fail_msg("the reference has no trainable variable \"%s\"", name);
}

/* ---- the comparison ---- */

static void check_gradient(const reference *r, const char *what, mtf_program *p, mtf_tensor *v,
                           mtf_tensor *gradient)
{
    char    name[NAME];
    float   g[ELEMENTS];
    double  sum = 0, size = 0, wanted_sum = 0, wanted_size = 0;
    int64_t n = mtf_shape_size(mtf_shape_of_tensor(v));
    snprintf(name, sizeof name, "%s?", tensor_name(v));
    assert_true(mtf_fetch(p, gradient, g));
    for (int64_t i = 0; i < n; i++) {
        sum += (double)g[i] * noise(name, (uint32_t)i);
        size += (double)g[i] * (double)g[i];
    }
    size = sqrt(size);
    reference_variable(r, tensor_name(v), &wanted_sum, &wanted_size);
    double allowed = 1e-4 * wanted_size + 1e-6; /* the gradient of some is 0 but for rounding */
    if (fabs(size - wanted_size) > allowed || fabs(sum - wanted_sum) > allowed)
        fail_msg("%s: the gradient of %s has size %.9g and sum %.9g instead of %.9g and %.9g", what,
                 tensor_name(v), size, sum, wanted_size, wanted_sum);
}

/* Those that are not trained as well. */
static void set_variables(const mtf_graph *g)
{
    for (int i = 0; i < g->root.nnodes; i++) {
        const node *n = g->root.nodes[i];
        if (strcmp(n->op->name, "variable") == 0) set_variable(n->out[0]);
    }
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
    for (int k = 0; k < small_models_by_torch() + MORES; k++)
        if (share_has(mine, k)) check_model(&r, k);
    assert_int_equal(occurrences(r.text, "\nmodel ") + 1, small_models_by_torch() + MORES);
    free(r.text);
}

int main(int argc, char **argv)
{
    share_read(argc > 1 ? argv[1] : NULL, &mine);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_option)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
