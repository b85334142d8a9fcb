/* Tests the convolutional layers of the Evolved Transformer against plain loops in double. */
#include "alone.h"

/* last */
#include "ground.h"

enum { D = ALONE_D, LENGTH = ALONE_LENGTH, WIDEST = 4 * D };

typedef struct rows {
    int    n; /* channels; further ones are 0 */
    double at[LENGTH][WIDEST];
} rows;

static rows apply(alone *a, mtf_layer_kind kind, bool causal)
{
    mtf_transformer_layer layers[] = {{.kind = kind, .evolved = {.epsilon = 0.01}}, {0}};
    rows                  x = {.n = D};
    alone_apply(a, &(mtf_stack_opts){.layers = layers}, causal);
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++) x.at[t][d] = a->x[t][d];
    return x;
}

/* x of another position of the same example, else 0. */
static double at(const rows *x, int t, int ahead, int d)
{
    int there = t + ahead;
    return there >= 0 && there < LENGTH && alone_segment[there] == alone_segment[t]
               ? x->at[there][d]
               : 0;
}

static rows positive(rows x)
{
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < x.n; d++)
            if (x.at[t][d] < 0) x.at[t][d] = 0;
    return x;
}

static rows dense(const alone *a, const char *scope, const rows *x, int n)
{
    rows  y = {.n = n};
    float w[WIDEST * WIDEST], b[WIDEST];
    char  name[80];
    snprintf(name, sizeof name, "%s/kernel", scope);
    alone_values(a, name, w);
    snprintf(name, sizeof name, "%s/bias", scope);
    alone_values(a, name, b);
    for (int t = 0; t < LENGTH; t++)
        for (int o = 0; o < n; o++) {
            y.at[t][o] = (double)b[o];
            for (int d = 0; d < x->n; d++) y.at[t][o] += x->at[t][d] * (double)w[d * n + o];
        }
    return y;
}

static rows separable(const alone *a, const char *scope, const rows *x, int first, int last, int n)
{
    rows  y = {.n = x->n};
    float w[WIDEST], b[WIDEST];
    char  name[80];
    snprintf(name, sizeof name, "%s/depthwise_dense_0/bias", scope);
    alone_values(a, name, b);
    for (int k = 0; k <= last - first; k++) {
        snprintf(name, sizeof name, "%s/depthwise_dense_%d/kernel", scope, k);
        alone_values(a, name, w);
        for (int t = 0; t < LENGTH; t++)
            for (int d = 0; d < x->n; d++)
                y.at[t][d] += at(x, t, first + k, d) * (double)w[d] + (k ? 0 : (double)b[d]);
    }
    snprintf(name, sizeof name, "%s/pointwise_dense", scope);
    return dense(a, name, &y, n);
}

/* a with the channels of b added to its first ones, then a layer norm. */
static rows joined(const alone *a, rows x, const rows *y)
{
    float scale[WIDEST], bias[WIDEST];
    alone_values(a, "layer_norm/scale", scale);
    alone_values(a, "layer_norm/bias", bias);
    for (int t = 0; t < LENGTH; t++) {
        double mean = 0, square = 0;
        for (int d = 0; d < y->n; d++) x.at[t][d] += y->at[t][d];
        for (int d = 0; d < x.n; d++) mean += x.at[t][d] / x.n;
        for (int d = 0; d < x.n; d++) square += (x.at[t][d] - mean) * (x.at[t][d] - mean) / x.n;
        for (int d = 0; d < x.n; d++)
            x.at[t][d] =
                (x.at[t][d] - mean) / sqrt(square + 0.01) * (double)scale[d] + (double)bias[d];
    }
    return x;
}

static void compare(alone *a, const rows *y)
{
    double want[LENGTH][D];
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++) want[t][d] = y->at[t][d];
    alone_compare(a, want);
    close_well(a->session);
}

static void test_encoder(void **state)
{
    alone a;
    rows  x = apply(&a, MTF_EVOLVED_ENCODER_CONVOLUTION, false), right = {.n = D / 2};
    rows  left = positive(dense(&a, "conv1x1", &x, 4 * D));
    float w[3][D][D / 2];
    (void)state;
    alone_values(&a, "conv3x1/kernel", &w[0][0][0]);
    for (int t = 0; t < LENGTH; t++)
        for (int o = 0; o < D / 2; o++)
            for (int k = 0; k < 3; k++)
                for (int d = 0; d < D; d++)
                    right.at[t][o] += at(&x, t, k - 1, d) * (double)w[k][d][o];
    right = positive(right);
    rows y = joined(&a, left, &right);
    y = separable(&a, "sep_conv9x1", &y, -4, 4, D / 2);
    compare(&a, &y);
}

static void test_decoder(void **state)
{
    (void)state;
    for (int causal = 0; causal < 2; causal++) {
        alone a;
        rows  x = apply(&a, MTF_EVOLVED_DECODER_CONVOLUTION, causal);
        rows  left = positive(separable(&a, "sep_conv11x1", &x, -10, 0, 2 * D));
        rows  right = separable(&a, "sep_conv7x1_1", &x, -6, 0, D / 2);
        rows  y = joined(&a, left, &right);
        y = separable(&a, "sep_conv7x1_2", &y, -6, 0, D);
        compare(&a, &y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_encoder),
                                       cmocka_unit_test(test_decoder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
