/* Tests layers that are convolutions against plain sums in double, and what they refuse. */
#include "alone.h"

/* last */
#include "ground.h"

enum { MOST_TAPS = 4 };

/* The layer alone, in a causal stack or in one that is not. */
static void apply(alone *a, mtf_transformer_layer layer, bool causal)
{
    mtf_transformer_layer layers[] = {layer, {0}};
    alone_apply(a, &(mtf_stack_opts){.layers = layers}, causal);
}

/* ---- values ---- */

static void test_convolution(void **state)
{
    (void)state;
    for (int causal = 0; causal < 2; causal++)
        for (int taps = 1; taps <= MOST_TAPS; taps++) {
            alone  a;
            double want[ALONE_LENGTH][ALONE_D] = {0};
            float  w[MOST_TAPS][ALONE_D][ALONE_D];
            apply(&a,
                  (mtf_transformer_layer){MTF_CONVOLUTION,
                                          .convolution = {.filter = taps, .activation = "tanh"}},
                  causal);
            alone_values(&a, "Conv1DLayer/conv1d/kernel", &w[0][0][0]);
            for (int t = 0; t < ALONE_LENGTH; t++)
                for (int o = 0; o < ALONE_D; o++) {
                    for (int k = 0; k < taps; k++)
                        for (int d = 0; d < ALONE_D; d++)
                            want[t][o] +=
                                alone_at(&a, t, k - (causal ? taps - 1 : (taps - 1) / 2), d) *
                                (double)w[k][d][o];
                    want[t][o] = tanh(want[t][o]);
                }
            alone_compare(&a, want);
            close_well(a.session);
        }
}

/* The channels mixed by the layer's dense kernel, after its bias. */
static void mix(const alone *a, double y[ALONE_LENGTH][ALONE_D], double want[ALONE_LENGTH][ALONE_D])
{
    float kernel[ALONE_D][ALONE_D], bias[ALONE_D], first[ALONE_D];
    alone_values(a, "depthwise_dense_0/bias", first);
    alone_values(a, "pointwise_dense/kernel", &kernel[0][0]);
    alone_values(a, "pointwise_dense/bias", bias);
    for (int t = 0; t < ALONE_LENGTH; t++)
        for (int o = 0; o < ALONE_D; o++) {
            want[t][o] = (double)bias[o];
            for (int d = 0; d < ALONE_D; d++)
                want[t][o] += (y[t][d] + (double)first[d]) * (double)kernel[d][o];
        }
}

static void test_separable(void **state)
{
    static const int reach[][2] = {{-3, 0}, {-2, -1}, {-1, 2}, {0, 1}};
    (void)state;
    for (int n = 0; n < 4; n++) {
        alone  a;
        double y[ALONE_LENGTH][ALONE_D] = {0}, want[ALONE_LENGTH][ALONE_D];
        apply(&a,
              (mtf_transformer_layer){
                  MTF_SEPARABLE_CONVOLUTION,
                  .convolution = {.min_position = reach[n][0], .max_position = reach[n][1]}},
              reach[n][1] <= 0);
        for (int k = 0; k <= reach[n][1] - reach[n][0]; k++) {
            char  name[60];
            float w[ALONE_D];
            snprintf(name, sizeof name, "separable_conv1d/depthwise_dense_%d/kernel", k);
            alone_values(&a, name, w);
            for (int t = 0; t < ALONE_LENGTH; t++)
                for (int d = 0; d < ALONE_D; d++)
                    y[t][d] += alone_at(&a, t, reach[n][0] + k, d) * (double)w[d];
        }
        mix(&a, y, want);
        alone_compare(&a, want);
        close_well(a.session);
    }
}

/* Softmax over the taps, of logits that are given or follow from the position. */
static void soften(const alone *a, bool dynamic, int t, int taps, int filters, int filter,
                   double *to)
{
    float  w[ALONE_D * MOST_TAPS * 4];
    double sum = 0;
    alone_values(a, dynamic ? "kernel_weights/kernel" : "kernel_weights", w);
    for (int k = 0; k < taps; k++) {
        double logit = dynamic ? 0 : (double)w[k * filters + filter];
        for (int d = 0; dynamic && d < ALONE_D; d++)
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
            double         y[ALONE_LENGTH][ALONE_D] = {0}, want[ALONE_LENGTH][ALONE_D];
            bool           causal = filters == 2;
            mtf_layer_kind kind = dynamic ? MTF_DYNAMIC_CONVOLUTION : MTF_LIGHTWEIGHT_CONVOLUTION;
            int            first = causal ? 1 - TAPS : -1;
            apply(&a,
                  (mtf_transformer_layer){kind, .convolution = {.min_position = first,
                                                                .max_position = first + TAPS - 1,
                                                                .filters = filters}},
                  causal);
            for (int t = 0; t < ALONE_LENGTH; t++)
                for (int d = 0; d < ALONE_D; d++) {
                    double w[TAPS];
                    soften(&a, dynamic, t, TAPS, filters, d / (ALONE_D / filters), w);
                    for (int k = 0; k < TAPS; k++) y[t][d] += alone_at(&a, t, first + k, d) * w[k];
                }
            mix(&a, y, want);
            alone_compare(&a, want);
            close_well(a.session);
        }
}

static void test_gated_units(void **state)
{
    alone  a;
    double want[ALONE_LENGTH][ALONE_D];
    float  w[2][ALONE_D][ALONE_D], bias[2][ALONE_D];
    (void)state;
    apply(&a, (mtf_transformer_layer){.kind = MTF_GATED_LINEAR_UNIT}, true);
    alone_values(&a, "glu_0/kernel", &w[0][0][0]);
    alone_values(&a, "glu_1/kernel", &w[1][0][0]);
    alone_values(&a, "glu_0/bias", bias[0]);
    alone_values(&a, "glu_1/bias", bias[1]);
    for (int t = 0; t < ALONE_LENGTH; t++)
        for (int o = 0; o < ALONE_D; o++) {
            double sum[2] = {(double)bias[0][o], (double)bias[1][o]};
            for (int k = 0; k < 2; k++)
                for (int d = 0; d < ALONE_D; d++) sum[k] += a.x[t][d] * (double)w[k][d][o];
            want[t][o] = sum[0] / (1 + exp(-sum[1]));
        }
    alone_compare(&a, want);
    close_well(a.session);
}

/* ---- refusals ---- */

static void refused(mtf_transformer_layer layer, const char *why)
{
    mtf_session          *s = open_two_threads();
    mtf_transformer_layer layers[] = {layer, {0}};
    mtf_transformer_opts  o = {
         .d_model = ALONE_D, .input_vocab = ALONE_D, .stack = {.layers = layers}};
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
