/* Tests vocabularies against plain loops: embeddings, logits, losses and gradients, on meshes. */
#include "graph/node.h"
#include "model/transformer/apply.h"
#include "model/transformer/token_loss.h"
#include "vocab_reference.h"

/* last */
#include "ground.h"

enum { BATCH = 3, LENGTH = 7, POSITIONS = BATCH * LENGTH };

static const mtf_vocab_cluster uneven[] = {{.tokens = 10, .inner = D},
                                           {.tokens = 15, .inner = 2, .length = 0.3},
                                           {.tokens = VOCAB - 25, .inner = 4},
                                           {0}};
static const mtf_vocab_cluster padded[] = {{.tokens = 9, .inner = 3}, {.tokens = PADDED - 9}, {0}};

static const vocab_case cases[] = {
    {.what = "a table"},
    {.what = "a table like a classifier's", .scaled = true},
    {.what = "factors", .o = {.kind = MTF_VOCAB_FACTORS, .inner = 3}, .z_loss = 0.01},
    {.what = "factors, ensemble", .o = {.kind = MTF_VOCAB_FACTORS, .inner = 5}, .ensemble = true},
    {.what = "clusters", .o = {.kind = MTF_VOCAB_CLUSTERS, .clusters = uneven}, .scaled = true},
    {.what = "clusters with padding, ensemble",
     .o = {.kind = MTF_VOCAB_CLUSTERS, .clusters = padded},
     .ensemble = true},
    {.what = "adaptive softmax",
     .o = {.kind = MTF_VOCAB_ADAPTIVE_SOFTMAX, .clusters = uneven},
     .z_loss = 0.02},
    {.what = "adaptive softmax, ensemble",
     .o = {.kind = MTF_VOCAB_ADAPTIVE_SOFTMAX, .clusters = uneven},
     .ensemble = true},
    {.what = "softmaxes", .o = {.kind = MTF_VOCAB_SOFTMAXES, .softmaxes = 3}},
    {.what = "softmaxes, ensemble",
     .o = {.kind = MTF_VOCAB_SOFTMAXES, .softmaxes = 2},
     .ensemble = true},
    {.what = "mixtape", .o = {.kind = MTF_VOCAB_MIXTAPE, .frequent = 0.2, .gate_size = 2}},
    {.what = "mixtape with sentinels, ensemble",
     .o = {.kind = MTF_VOCAB_MIXTAPE, .frequent = 0.25, .gate_size = 3, .last_frequent = 5},
     .ensemble = true},
    {.what = "mixtape of frequent tokens only",
     .o = {.kind = MTF_VOCAB_MIXTAPE, .frequent = 1, .gate_size = 2, .last_frequent = 3}},
};
enum { CASES = sizeof cases / sizeof *cases };

static const struct {
    const char *mesh, *layout;
} places[] = {{NULL, NULL},
              {"a:2,b:3", "batch:a,vocab:b"},
              {"a:3", "length:a"},
              {"a:2,b:2", "d_model:a,vocab:b"},
              {"a:2,b:2", "ensemble:a?,inner_vocab:b?,gates:b?,softmax_components:b?"}};
enum { PLACES = sizeof places / sizeof *places };

/* ---- a vocabulary in a graph, without a stack ---- */

typedef struct setup {
    mtf_session *session;
    mtf_graph   *graph;
    stack_call   call;
    mtf_tensor  *ids, *x;
    int          members;
    weights      w;
} setup;

static mtf_transformer_opts opts_of(const vocab_case *k)
{
    static const mtf_transformer_layer layers[] = {{.kind = MTF_FEED_FORWARD}, {0}};
    return (mtf_transformer_opts){
        .d_model = D,
        .input_vocab = VOCAB,
        .vocab_divisor = 8,
        .vocab = k->o,
        .scaled_embedding = k->scaled,
        .shared_softmax = true,
        .z_loss = k->z_loss > 0 ? k->z_loss : -1,
        .ensemble = k->ensemble ? MEMBERS : 1,
        .activation = MTF_F64,
        .loss_denominator = 1,
        .stack = {.name = "t", .layers = layers, .positions = MTF_POSITIONS_NONE}};
}

static void begin(setup *s, const vocab_case *k, int place, call_mode mode)
{
    *s = (setup){.members = k->ensemble ? MEMBERS : 1};
    s->session = open_as_asked(
        &(mtf_session_opts){.mesh = places[place].mesh, .layout = places[place].layout});
    mtf_transformer_opts o = opts_of(k);
    mtf_transformer     *m = mtf_transformer_new(s->session, &o);
    if (!m) fail_msg("%s: %s", k->what, mtf_error(s->session));
    mtf_dim batch = {"batch", BATCH}, length = {"length", LENGTH};
    s->graph = mtf_graph_new(s->session);
    s->call = call_of(m, &m->decoder, mode, false);
    s->call.graph = s->graph;
    s->call.outside = "";
    s->call.length = length;
    s->call.batch = mtf_shape_plus(m->ensemble, mtf_shape(batch));
    s->ids = mtf_input(s->graph, "ids", MTF_I32, mtf_shape(batch, length));
    s->x = mtf_input(s->graph, "x", MTF_F64, call_shape(&s->call, mtf_shape(m->d_model)));
    s->w = (weights){.of = k};
    mtf_scope_push(s->graph, "t");
}

static int64_t elements(const mtf_tensor *t)
{
    return mtf_shape_size(mtf_shape_of_tensor(t));
}

static void end(setup *s)
{
    free_weights(&s->w.t);
    close_well(s->session);
}

static void make_numbers(int32_t *ids, double *x)
{
    for (int i = 0; i < POSITIONS; i++) ids[i] = (i * 5 + 10) % VOCAB;
    ids[LENGTH - 1] = 0, ids[LENGTH] *= -1; /* padding, and a target without loss */
    for (int i = 0; i < MEMBERS * POSITIONS * D; i++) x[i] = sin(i * 1.7 + 0.3) * 2;
}

static void feed(setup *s, mtf_program *p, const int32_t *ids, const double *x)
{
    if (mtf_feed(p, s->ids, ids) && mtf_feed(p, s->x, x) && mtf_step(p)) return;
    fail_msg("%s: %s", s->w.of->what, mtf_error(s->session));
}

/* ---- embeddings and logits ---- */

static void check_values(const setup *s, const char *of, int n, const double *got,
                         const double *want)
{
    for (int i = 0; i < n; i++)
        if (fabs(got[i] - want[i]) > 1e-5 * (1 + fabs(want[i])))
            fail_msg("%s: %s %d is %.9g instead of %.9g", s->w.of->what, of, i, got[i], want[i]);
}

static void fetch_doubles(setup *s, mtf_program *p, mtf_tensor *x, mtf_shape order, double *to)
{
    (void)s;
    assert_true(mtf_shape_equal(mtf_shape_of_tensor(x), order));
    assert_true(mtf_fetch(p, x, to));
}

static void check_case(const vocab_case *k, int place)
{
    static double got[MEMBERS * POSITIONS * PADDED], y[MEMBERS * POSITIONS * D];
    int32_t       ids[POSITIONS];
    double        x[MEMBERS * POSITIONS * D], want[PADDED];
    setup         s;
    begin(&s, k, place, CALL_EVALUATE);
    mtf_dim     vocab = s.call.model->output_vocab, d = s.call.model->d_model;
    mtf_shape   all = call_shape(&s.call, mtf_shape(vocab)), in = call_shape(&s.call, mtf_shape(d));
    mtf_tensor *embedded = embed_tokens(&s.call, vocab, mtf_abs(s.ids));
    mtf_tensor *logits = mtf_cast(mtf_transpose(logits_of(&s.call, s.x), all), MTF_F64);
    mtf_program *p = mtf_compile(s.graph, mtf_broadcast(embedded, in), logits);
    make_numbers(ids, x);
    feed(&s, p, ids, x);
    take_weights(s.graph, s.members, &s.w.t);
    fetch_doubles(&s, p, logits, all, got);
    mtf_program *q = mtf_compile(s.graph, embedded);
    feed(&s, q, ids, x);
    fetch_doubles(&s, q, embedded, in, y);
    for (s.w.t.member = 0; s.w.t.member < s.members; s.w.t.member++)
        for (int i = 0; i < POSITIONS; i++) {
            int at = s.w.t.member * POSITIONS + i;
            reference_logits(&s.w, x + at * D, want);
            check_values(&s, "logit", PADDED, got + at * PADDED, want);
            reference_embed(&s.w, abs(ids[i]), want);
            check_values(&s, "embedding", D, y + at * D, want);
        }
    end(&s);
}

static void test_embeddings_and_logits(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k++) {
        check_case(&cases[k], 0);
        check_case(&cases[k], 1 + k % (PLACES - 1));
    }
}

/* ---- losses and gradients ---- */

/* The loss of all sequences and members by the reference. */
static double whole_loss(setup *s, const int32_t *ids, const double *x)
{
    double sum = 0;
    for (s->w.t.member = 0; s->w.t.member < s->members; s->w.t.member++)
        for (int b = 0; b < BATCH; b++)
            sum += reference_loss(&s->w, LENGTH, x + (s->w.t.member * POSITIONS + b * LENGTH) * D,
                                  ids + b * LENGTH);
    return sum;
}

/* The derivative by one element, against a difference of the reference. */
static void check_slope(setup *s, const weight *w, int64_t i, double got, const int32_t *ids,
                        const double *x)
{
    double before = w->x[i], step = 1e-4;
    w->x[i] = before + step;
    double more = whole_loss(s, ids, x);
    w->x[i] = before - step;
    double slope = (more - whole_loss(s, ids, x)) / (2 * step);
    w->x[i] = before;
    if (fabs(slope - got) > 2e-5 * (1 + fabs(slope)))
        fail_msg("%s: the derivative by element %d of %s is %.9g instead of %.9g", s->w.of->what,
                 (int)i, w->name, got, slope);
}

static void check_training(const vocab_case *k, int place)
{
    int32_t ids[POSITIONS];
    double  x[MEMBERS * POSITIONS * D];
    setup   s;
    begin(&s, k, place, CALL_TRAIN);
    mtf_transformer_result r = token_loss(&s.call, s.x, &(loss_opts){.targets = s.ids});
    mtf_tensor            *variables[MOST_WEIGHTS], *fetches[MOST_WEIGHTS + 1];
    int                    n = mtf_variables(s.graph, variables, MOST_WEIGHTS);
    mtf_gradients(1, &r.loss, n, variables, NULL, fetches);
    fetches[n] = r.loss;
    mtf_program *p = mtf_compile_n(s.graph, n + 1, fetches);
    make_numbers(ids, x);
    feed(&s, p, ids, x);
    take_weights(s.graph, s.members, &s.w.t);
    assert_near(mtf_fetch_scalar(p, r.loss), whole_loss(&s, ids, x), 1e-5);
    for (int v = 0; v < n; v++) {
        const weight *w = &s.w.t.all[v];
        int64_t       size = elements(w->variable), step = place ? 41 : 7;
        double       *g = malloc(sizeof *g * (size_t)size);
        assert_true(mtf_fetch(p, fetches[v], g));
        for (int64_t i = v % step; i < size; i += step) check_slope(&s, w, i, g[i], ids, x);
        free(g);
    }
    end(&s);
}

static void test_losses_and_gradients(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k++) {
        check_training(&cases[k], 0);
        check_training(&cases[k], 1 + (k + 1) % (PLACES - 1));
    }
}

/* Tokens without loss take no place of a shortened cluster. */
static void test_uncounted_tokens(void **state)
{
    int32_t ids[POSITIONS];
    double  x[POSITIONS * D], want = 0;
    setup   s;
    (void)state;
    begin(&s, &cases[6], 0, CALL_TRAIN);
    mtf_tensor *five = mtf_constant(s.graph, 5, MTF_I32, mtf_shape());
    mtf_tensor *late = mtf_greater_equal(mtf_range(s.graph, s.call.length, MTF_I32), five);
    mtf_transformer_result r = token_loss(
        &s.call, s.x, &(loss_opts){.targets = s.ids, .counts = mtf_broadcast(late, s.ids->shape)});
    mtf_program *p = mtf_compile(s.graph, r.loss, r.right);
    for (int i = 0; i < POSITIONS; i++) ids[i] = 11; /* of the cluster that takes 3 of 7 */
    for (int i = 0; i < POSITIONS * D; i++) x[i] = cos(i);
    feed(&s, p, ids, x);
    take_weights(s.graph, s.members, &s.w.t);
    for (int b = 0; b < BATCH; b++) {
        int32_t last[LENGTH] = {0, 0, 0, 0, 0, 11, 11};
        want += reference_loss(&s.w, LENGTH, x + b * LENGTH * D, last);
    }
    assert_near(mtf_fetch_scalar(p, r.loss), want, 1e-5);
    end(&s);
}

/* In training Mixtape's gates have noise. */
static void test_noise(void **state)
{
    vocab_case k = cases[10];
    double     loss[2][2];
    (void)state;
    for (int noisy = 0; noisy < 2; noisy++)
        for (int training = 0; training < 2; training++) {
            int32_t ids[POSITIONS];
            double  x[MEMBERS * POSITIONS * D];
            setup   s;
            k.o.noise = noisy;
            begin(&s, &k, 0, training ? CALL_TRAIN : CALL_EVALUATE);
            mtf_transformer_result r = token_loss(&s.call, s.x, &(loss_opts){.targets = s.ids});
            mtf_program           *p = mtf_compile(s.graph, r.loss);
            make_numbers(ids, x);
            feed(&s, p, ids, x);
            loss[noisy][training] = mtf_fetch_scalar(p, r.loss);
            end(&s);
        }
    assert_near(loss[0][0], loss[1][0], 1e-6);
    assert_near(loss[0][0], loss[0][1], 1e-6);
    assert_true(fabs(loss[1][1] - loss[1][0]) > 1e-3);
}

/* ---- refusals ---- */

static void refuse(mtf_transformer_opts o, const char *piece)
{
    mtf_session *s = mtf_open_with(NULL);
    assert_null(mtf_transformer_new(s, &o));
    assert_contains(mtf_error(s), piece);
    mtf_close(s);
}

static void test_refusals(void **state)
{
    static const mtf_vocab_cluster few[] = {{.tokens = 10}, {.tokens = 12}, {0}},
                                   long_one[] = {{.tokens = VOCAB, .length = 1.5}, {0}};
    mtf_transformer_opts o = opts_of(&cases[6]);
    (void)state;
    o.label_smoothing = 0.1;
    refuse(o, "AdaptiveSoftmaxVocabEmbedding trains each token's own cluster only, and label "
              "smoothing, here 0.1, needs all tokens");
    o.label_smoothing = 0, o.loss_block = 2;
    refuse(o, "trains without logits of all tokens, which loss_block divides; leave it 0");
    o.loss_block = 0, o.shared_softmax = false;
    refuse(o, "AdaptiveSoftmaxVocabEmbedding needs shared_softmax");
    o.shared_softmax = true, o.vocab.clusters = few;
    refuse(o, "the clusters have 22 tokens together, the vocabulary 44 (48 with those that only "
              "pad it)");
    o.vocab.clusters = long_one;
    refuse(o, "a cluster of tokens takes up 1.5 of a sequence");
    o.vocab = (mtf_vocab_opts){.kind = MTF_VOCAB_FACTORS};
    refuse(o, "a factorized vocabulary needs the size of its inner dimension");
    o.vocab = (mtf_vocab_opts){.kind = MTF_VOCAB_MIXTAPE, .gate_size = 2, .last_frequent = 45};
    refuse(o, "45 of the last tokens are frequent; there are 44");
    o.vocab = (mtf_vocab_opts){0}, o.encoder_vocab.kind = MTF_VOCAB_FACTORS;
    refuse(o, "encoder_vocab is for an encoder-decoder with separate_embedding");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embeddings_and_logits),
        cmocka_unit_test(test_losses_and_gradients),
        cmocka_unit_test(test_uncounted_tokens),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
