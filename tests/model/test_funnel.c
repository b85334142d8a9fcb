/* Tests Funnel Transformers against plain loops in double.
 *
 * A decoder of one attention, with one head, reads what the funnel leaves: its results are the logits.
 */
#include "alone.h"

/* last */
#include "ground.h"

enum { D = ALONE_D, LENGTH = ALONE_LENGTH };

/* The second example begins within a window. */
static const int32_t inputs[LENGTH] = {3, 6, 2, 7, 4, 5, 2, 6, 0};
static const int32_t inputs_segment[LENGTH] = {1, 1, 1, 2, 2, 2, 2, 2, 0};
static const int32_t targets[LENGTH] = {5, 2, 7, 3, 6, 4, 2, 0, 0};

typedef struct rows {
    int     n;
    int32_t segment[LENGTH];
    double  at[LENGTH][D];
} rows;

static void apply(alone *a, const mtf_funnel_opts *f)
{
    static const char *const call[] = {"call_layer", NULL}, *const nothing[] = {NULL},
                             *const around[] = {"call_layer", "residual", NULL};
    static const mtf_transformer_layer
        encoder[] = {{MTF_FEED_FORWARD, .feed_forward = {.hidden = D}}, {0}},
        decoder[] = {{MTF_ENC_DEC_ATTENTION, .attention = {.heads = 1, .kv = D}}, {0}};
    mtf_transformer_opts o = {.d_model = D,
                              .input_vocab = D,
                              .vocab_divisor = D,
                              .no_shift = true,
                              .stack = {.layers = decoder,
                                        .blocks = 1,
                                        .positions = MTF_POSITIONS_NONE,
                                        .initial = nothing,
                                        .per_layer = call,
                                        .final = nothing}};
    o.encoder = o.stack;
    o.encoder.layers = encoder;
    o.encoder.blocks = 2;
    o.encoder.per_layer = around;
    o.encoder.funnel = f;
    *a = (alone){.session = open_two_threads()};
    mtf_transformer       *m = mtf_transformer_new(a->session, &o);
    mtf_graph             *g = mtf_graph_new(a->session);
    mtf_shape              row = mtf_shape((mtf_dim){"batch", 1}, (mtf_dim){"length", LENGTH});
    mtf_transformer_batch  b = {.inputs = mtf_constant_data(g, inputs, MTF_I32, row),
                                .inputs_segment = mtf_constant_data(g, inputs_segment, MTF_I32, row),
                                .targets = mtf_constant_data(g, targets, MTF_I32, row),
                                .targets_segment =
                                    mtf_constant_data(g, alone_segment, MTF_I32, row)};
    mtf_transformer_result r = mtf_transformer_apply(m, &b, NULL);
    mtf_program           *p = mtf_compile(g, r.logits);
    if (!p) fail_msg("%s", mtf_error(a->session));
    alone_variables(a, g);
    mtf_step(p);
    assert_true(mtf_fetch(p, r.logits, a->y));
}

/* ---- in double ---- */

static rows embed(const alone *a, const int32_t *ids, const int32_t *segment)
{
    rows  x = {.n = LENGTH};
    float table[D][D];
    alone_values(a, "shared/embedding", &table[0][0]);
    memcpy(x.segment, segment, sizeof x.segment);
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++) x.at[t][d] = (double)table[ids[t]][d];
    return x;
}

static rows times(const alone *a, const rows *x, const char *kernel)
{
    rows  y = *x;
    float w[D][D];
    alone_values(a, kernel, &w[0][0]);
    for (int t = 0; t < x->n; t++)
        for (int o = 0; o < D; o++) {
            y.at[t][o] = 0;
            for (int d = 0; d < D; d++) y.at[t][o] += x->at[t][d] * (double)w[d][o];
        }
    return y;
}

/* x + relu(x wi) wo */
static rows forward(const alone *a, const rows *x, int block)
{
    char name[60];
    snprintf(name, sizeof name, "encoder/block_%03d/layer_000/DenseReluDense/wi/kernel", block);
    rows y = times(a, x, name);
    for (int t = 0; t < x->n; t++)
        for (int d = 0; d < D; d++) y.at[t][d] = y.at[t][d] > 0 ? y.at[t][d] : 0;
    snprintf(name, sizeof name, "encoder/block_%03d/layer_000/DenseReluDense/wo/kernel", block);
    y = times(a, &y, name);
    for (int t = 0; t < x->n; t++)
        for (int d = 0; d < D; d++) y.at[t][d] += x->at[t][d];
    return y;
}

static rows pooled(const rows *x, int size, mtf_pooling kind)
{
    rows y = {.n = (x->n + size - 1) / size};
    for (int w = 0; w < y.n; w++) {
        int n = 0;
        y.segment[w] = x->segment[w * size];
        for (int t = w * size; t < (w + 1) * size && t < x->n; t++) {
            if (x->segment[t] != y.segment[w]) continue;
            for (int d = 0; d < D; d++) {
                double *to = &y.at[w][d], more = x->at[t][d];
                if (kind == MTF_POOLING_MEAN)
                    *to = (*to * n + more) / (n + 1);
                else if (n == 0 || (kind == MTF_POOLING_MAX ? more > *to : more < *to))
                    *to = more;
            }
            n++;
        }
    }
    return y;
}

/* softmax over the memory's positions of the same example */
static rows attended(const alone *a, const rows *x, const rows *memory)
{
    rows q = times(a, x, "EncDecAttention/q"), k = times(a, memory, "EncDecAttention/k"),
         v = times(a, memory, "EncDecAttention/v"), y = {.n = x->n};
    for (int t = 0; t < x->n; t++) {
        double sum = 0, most = -1e300, logit[LENGTH];
        for (int m = 0; m < memory->n; m++) {
            logit[m] = 0;
            for (int d = 0; d < D; d++) logit[m] += q.at[t][d] * k.at[m][d];
            if (memory->segment[m] == x->segment[t] && logit[m] > most) most = logit[m];
        }
        for (int m = 0; m < memory->n; m++) {
            if (memory->segment[m] != x->segment[t]) continue;
            sum += exp(logit[m] - most);
            for (int d = 0; d < D; d++) y.at[t][d] += exp(logit[m] - most) * v.at[m][d];
        }
        for (int d = 0; d < D; d++) y.at[t][d] /= sum;
    }
    return times(a, &y, "EncDecAttention/o");
}

static void test_values(void **state)
{
    (void)state;
    for (int kind = MTF_POOLING_MEAN; kind <= MTF_POOLING_MIN; kind++)
        for (int size = 1; size <= 3; size++) {
            alone           a;
            mtf_funnel_opts f = {.blocks = 2,
                                 .layers = (const int64_t[]){1, 1},
                                 .repeats = (const int64_t[]){2, 2},
                                 .pooling = size,
                                 .kind = (mtf_pooling)kind};
            apply(&a, &f);
            rows x = embed(&a, inputs, inputs_segment), own = embed(&a, targets, alone_segment);
            for (int again = 0; again < 2; again++) x = forward(&a, &x, 0);
            x = forward(&a, &x, 1);
            x = pooled(&x, size, f.kind);
            x = forward(&a, &x, 1);
            rows y = attended(&a, &own, &x);
            for (int t = 0; t < LENGTH; t++)
                for (int d = 0; d < D; d++)
                    if (alone_segment[t] &&
                        fabs((double)a.y[t][d] - y.at[t][d]) > 2e-5 * (1 + fabs(y.at[t][d])))
                        fail_msg("pooling %d of %d: position %d, channel %d: %.8g instead of %.8g",
                                 kind, size, t, d, (double)a.y[t][d], y.at[t][d]);
            close_well(a.session);
        }
}

/* ---- refusals ---- */

static void refused(const mtf_funnel_opts *f, bool encoder, const char *why)
{
    static const mtf_transformer_layer layers[] = {
        {MTF_FEED_FORWARD, .feed_forward = {.hidden = D}}, {0}};
    mtf_session         *s = open_two_threads();
    mtf_transformer_opts o = {.d_model = D, .input_vocab = D, .stack = {.layers = layers}};
    if (encoder) o.encoder.layers = layers;
    *(encoder ? &o.encoder.funnel : &o.stack.funnel) = f;
    assert_null(mtf_transformer_new(s, &o));
    assert_contains(mtf_error(s), why);
    mtf_close(s);
}

static void test_refused(void **state)
{
    (void)state;
    refused(&(mtf_funnel_opts){.blocks = 2, .layers = (const int64_t[]){2, 3}}, true,
            "encoder: the blocks of a funnel have 5 layers together, and the stack 6");
    refused(&(mtf_funnel_opts){.blocks = 2, .layers = (const int64_t[]){6, 0}}, true,
            "encoder: block 1 of a funnel has 0 layers, each 1 times");
    refused(&(mtf_funnel_opts){.blocks = 0}, true, "a funnel of 0 blocks that pools 2 positions");
    refused(&(mtf_funnel_opts){.blocks = 1, .layers = (const int64_t[]){6}}, false,
            "it belongs to the encoder of an encoder-decoder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
