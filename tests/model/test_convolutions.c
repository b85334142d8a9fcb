/* Tests layers that are convolutions against plain sums in double, and what they refuse.
 *
 * A model with nothing but the layer, whose logits are the layer's results: the embedding is the input,
 * and the kernel of the logits is one.
 */
#include "graph/node.h"
#include "mtf_transformer.h"

/* last */
#include "ground.h"

enum { D = 8, LENGTH = 9, MOST_TAPS = 4, VARIABLES = 16 };

static const char *const call[] = {"call_layer", NULL}, *const nothing[] = {NULL};

/* Two examples, the second of one token less, and padding. */
static const int32_t segment[LENGTH] = {1, 1, 1, 1, 2, 2, 2, 0, 0};

typedef struct alone {
    mtf_session *session;
    mtf_tensor  *variables[VARIABLES];
    int          count;
    double       x[LENGTH][D];
    float        y[LENGTH][D];
} alone;

/* From -1 to 1. */
static float number_of(int variable, int64_t i)
{
    return (float)sin((double)(variable + 1) * 1.7 + (double)i * (0.9 + 0.13 * variable));
}

static mtf_tensor *variable_of(const alone *a, const char *end)
{
    for (int k = 0; k < a->count; k++) {
        const char *name = tensor_name(a->variables[k]);
        size_t      n = strlen(name), m = strlen(end);
        if (n >= m && strcmp(name + n - m, end) == 0) return a->variables[k];
    }
    fail_msg("there is no variable \"%s\"", end);
    return NULL;
}

static void values_of(const alone *a, const char *end, float *to)
{
    assert_true(mtf_variable_get(variable_of(a, end), to));
}

static void set_one(const alone *a, const char *end)
{
    float one[D * D] = {0};
    for (int k = 0; k < D; k++) one[k * D + k] = 1;
    assert_true(mtf_variable_set(variable_of(a, end), one));
}

/* Applies the layer to what the tokens 0 to 7 are embedded as, in a causal stack or in one that is not. */
static void apply(alone *a, mtf_transformer_layer layer, bool causal)
{
    static const int32_t  ids[LENGTH] = {5, 2, 7, 3, 6, 4, 2, 0, 0};
    mtf_transformer_layer layers[] = {layer, {0}};
    *a = (alone){.session = open_two_threads()};
    mtf_transformer *m = mtf_transformer_new(
        a->session, &(mtf_transformer_opts){.d_model = D,
                                            .input_vocab = D,
                                            .vocab_divisor = D,
                                            .bidirectional = !causal,
                                            .no_shift = true,
                                            .stack = {.layers = layers,
                                                      .blocks = 1,
                                                      .positions = MTF_POSITIONS_NONE,
                                                      .initial = nothing,
                                                      .per_layer = call,
                                                      .final = nothing}});
    mtf_graph            *g = mtf_graph_new(a->session);
    mtf_shape             row = mtf_shape((mtf_dim){"batch", 1}, (mtf_dim){"length", LENGTH});
    mtf_tensor           *in = mtf_constant_data(g, ids, MTF_I32, row);
    mtf_tensor           *parts = mtf_constant_data(g, segment, MTF_I32, row);
    mtf_transformer_batch b = {
        .inputs = in, .inputs_segment = parts, .targets = in, .targets_segment = parts};
    mtf_transformer_result r = mtf_transformer_apply(m, &b, NULL);
    mtf_program           *p = mtf_compile(g, r.logits);
    if (!p) fail_msg("%s", mtf_error(a->session));
    a->count = mtf_variables(g, a->variables, VARIABLES);
    float table[D][D];
    for (int k = 0; k < a->count; k++) {
        float   v[D * D * MOST_TAPS];
        int64_t n = mtf_shape_size(mtf_shape_of_tensor(a->variables[k]));
        for (int64_t i = 0; i < n; i++) v[i] = number_of(k, i);
        assert_true(mtf_variable_set(a->variables[k], v));
    }
    set_one(a, "logits/kernel");
    values_of(a, "embedding", &table[0][0]);
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++) a->x[t][d] = segment[t] ? (double)table[ids[t]][d] : 0;
    mtf_step(p);
    assert_true(mtf_fetch(p, r.logits, a->y));
}

/* x of another position, 0 where it is none of the same example. */
static double at(const alone *a, int t, int ahead, int d)
{
    int  there = t + ahead;
    bool own = there >= 0 && there < LENGTH && segment[there] == segment[t];
    return own ? a->x[there][d] : 0;
}

static void compare(const alone *a, double want[LENGTH][D])
{
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++)
            if (segment[t] && fabs((double)a->y[t][d] - want[t][d]) > 1e-5)
                fail_msg("position %d, channel %d: %.8g instead of %.8g", t, d, (double)a->y[t][d],
                         want[t][d]);
}

/* ---- values ---- */

static void test_convolution(void **state)
{
    (void)state;
    for (int causal = 0; causal < 2; causal++)
        for (int taps = 1; taps <= MOST_TAPS; taps++) {
            alone  a;
            double want[LENGTH][D] = {0};
            float  w[MOST_TAPS][D][D];
            apply(&a,
                  (mtf_transformer_layer){MTF_CONVOLUTION,
                                          .convolution = {.filter = taps, .activation = "tanh"}},
                  causal);
            values_of(&a, "Conv1DLayer/conv1d/kernel", &w[0][0][0]);
            for (int t = 0; t < LENGTH; t++)
                for (int o = 0; o < D; o++) {
                    for (int k = 0; k < taps; k++)
                        for (int d = 0; d < D; d++)
                            want[t][o] += at(&a, t, k - (causal ? taps - 1 : (taps - 1) / 2), d) *
                                          (double)w[k][d][o];
                    want[t][o] = tanh(want[t][o]);
                }
            compare(&a, want);
            close_well(a.session);
        }
}

/* The channels mixed by the layer's dense kernel, after its bias. */
static void mix(const alone *a, double y[LENGTH][D], double want[LENGTH][D])
{
    float kernel[D][D], bias[D], first[D];
    values_of(a, "depthwise_dense_0/bias", first);
    values_of(a, "pointwise_dense/kernel", &kernel[0][0]);
    values_of(a, "pointwise_dense/bias", bias);
    for (int t = 0; t < LENGTH; t++)
        for (int o = 0; o < D; o++) {
            want[t][o] = (double)bias[o];
            for (int d = 0; d < D; d++)
                want[t][o] += (y[t][d] + (double)first[d]) * (double)kernel[d][o];
        }
}

static void test_separable(void **state)
{
    static const int reach[][2] = {{-3, 0}, {-2, -1}, {-1, 2}, {0, 1}};
    (void)state;
    for (int n = 0; n < 4; n++) {
        alone  a;
        double y[LENGTH][D] = {0}, want[LENGTH][D];
        apply(&a,
              (mtf_transformer_layer){
                  MTF_SEPARABLE_CONVOLUTION,
                  .convolution = {.min_position = reach[n][0], .max_position = reach[n][1]}},
              reach[n][1] <= 0);
        for (int k = 0; k <= reach[n][1] - reach[n][0]; k++) {
            char  name[60];
            float w[D];
            snprintf(name, sizeof name, "separable_conv1d/depthwise_dense_%d/kernel", k);
            values_of(&a, name, w);
            for (int t = 0; t < LENGTH; t++)
                for (int d = 0; d < D; d++) y[t][d] += at(&a, t, reach[n][0] + k, d) * (double)w[d];
        }
        mix(&a, y, want);
        compare(&a, want);
        close_well(a.session);
    }
}

/* Softmax over the taps, of logits that are given or follow from the position. */
static void soften(const alone *a, bool dynamic, int t, int taps, int filters, int filter,
                   double *to)
{
    float  w[D * MOST_TAPS * 4];
    double sum = 0;
    values_of(a, dynamic ? "kernel_weights/kernel" : "kernel_weights", w);
    for (int k = 0; k < taps; k++) {
        double logit = dynamic ? 0 : (double)w[k * filters + filter];
        for (int d = 0; dynamic && d < D; d++)
            logit += a->x[t][d] * (double)w[(d * taps + k) * filters + filter];
        sum += to[k] = exp(logit);
    }
    for (int k = 0; k < taps; k++) to[k] /= sum;
}

static void test_normalised(void **state)
{
    enum { TAPS = 3 };
    (void)state;
    for (int dynamic = 0; dynamic < 2; dynamic++)
        for (int filters = 1; filters <= 4; filters *= 2) {
            alone          a;
            double         y[LENGTH][D] = {0}, want[LENGTH][D];
            bool           causal = filters == 2;
            mtf_layer_kind kind = dynamic ? MTF_DYNAMIC_CONVOLUTION : MTF_LIGHTWEIGHT_CONVOLUTION;
            int            first = causal ? 1 - TAPS : -1;
            apply(&a,
                  (mtf_transformer_layer){kind, .convolution = {.min_position = first,
                                                                .max_position = first + TAPS - 1,
                                                                .filters = filters}},
                  causal);
            for (int t = 0; t < LENGTH; t++)
                for (int d = 0; d < D; d++) {
                    double w[TAPS];
                    soften(&a, dynamic, t, TAPS, filters, d / (D / filters), w);
                    for (int k = 0; k < TAPS; k++) y[t][d] += at(&a, t, first + k, d) * w[k];
                }
            mix(&a, y, want);
            compare(&a, want);
            close_well(a.session);
        }
}

static void test_gated_units(void **state)
{
    alone  a;
    double want[LENGTH][D];
    float  w[2][D][D], bias[2][D];
    (void)state;
    apply(&a, (mtf_transformer_layer){.kind = MTF_GATED_LINEAR_UNIT}, true);
    values_of(&a, "glu_0/kernel", &w[0][0][0]);
    values_of(&a, "glu_1/kernel", &w[1][0][0]);
    values_of(&a, "glu_0/bias", bias[0]);
    values_of(&a, "glu_1/bias", bias[1]);
    for (int t = 0; t < LENGTH; t++)
        for (int o = 0; o < D; o++) {
            double sum[2] = {(double)bias[0][o], (double)bias[1][o]};
            for (int k = 0; k < 2; k++)
                for (int d = 0; d < D; d++) sum[k] += a.x[t][d] * (double)w[k][d][o];
            want[t][o] = sum[0] / (1 + exp(-sum[1]));
        }
    compare(&a, want);
    close_well(a.session);
}

/* ---- refusals ---- */

static void refused(mtf_transformer_layer layer, const char *why)
{
    mtf_session          *s = open_two_threads();
    mtf_transformer_layer layers[] = {layer, {0}};
    mtf_transformer_opts  o = {.d_model = D, .input_vocab = D, .stack = {.layers = layers}};
    assert_null(mtf_transformer_new(s, &o));
    assert_contains(mtf_error(s), why);
    mtf_close(s);
}

static void test_refused(void **state)
{
    (void)state;
    refused((mtf_transformer_layer){MTF_CONVOLUTION, .convolution = {.filter = -1}},
            "Conv1DLayer: a filter of -1 positions");
    refused((mtf_transformer_layer){MTF_CONVOLUTION, .convolution = {.output = 6}},
            "Conv1DLayer gives 6 channels; a layer gives as many as d_model, 8");
    refused((mtf_transformer_layer){MTF_SEPARABLE_CONVOLUTION, .convolution = {.max_position = 2}},
            "SeparableConv1DLayer sees positions up to 2 ahead");
    refused((mtf_transformer_layer){MTF_SEPARABLE_CONVOLUTION, .convolution = {.min_position = 2}},
            "SeparableConv1DLayer: there are no positions from 2 to 0");
    refused((mtf_transformer_layer){MTF_DYNAMIC_CONVOLUTION, .convolution = {.filters = 3}},
            "DynamicConv1DLocalAttn has 3 depthwise filters, which do not divide d_model, 8");
    refused((mtf_transformer_layer){.kind = MTF_EVOLVED_ENCODER_CONVOLUTION},
            "EncoderConvolutionalLayer sees later positions");
    refused((mtf_transformer_layer){MTF_EVOLVED_DECODER_CONVOLUTION, .evolved = {.d_model = 4}},
            "DecoderConvolutionalLayer has a d_model of 4, and the model 8");
    refused((mtf_transformer_layer){.kind = MTF_TWO_ATTENTIONS},
            "DecoderAttentionLayer attends to an encoder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolution), cmocka_unit_test(test_separable),
        cmocka_unit_test(test_normalised), cmocka_unit_test(test_gated_units),
        cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
