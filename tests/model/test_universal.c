/* Tests Universal Transformers against plain loops in double. */
#include "alone.h"

/* last */
#include "ground.h"

enum { D = ALONE_D, LENGTH = ALONE_LENGTH, STEPS = 3, MAX_LENGTH = 40 };

typedef struct matrix {
    double at[LENGTH][D];
} matrix;

static const mtf_transformer_layer layers[] = {{MTF_FEED_FORWARD, .feed_forward = {.hidden = D}},
                                               {0}};

static void apply(alone *a, const mtf_universal_opts *u, bool causal)
{
    alone_apply(a, &(mtf_stack_opts){.layers = layers, .max_length = MAX_LENGTH, .universal = u},
                causal);
}

/* ---- one step ---- */

/* x kernel [D, D], after which comes a bias, if there is one. */
static matrix times(const alone *a, const matrix *x, const char *kernel, const char *bias)
{
    matrix y = {0};
    float  w[D][D], b[D] = {0};
    alone_values(a, kernel, &w[0][0]);
    if (bias) alone_values(a, bias, b);
    for (int t = 0; t < LENGTH; t++)
        for (int o = 0; o < D; o++) {
            y.at[t][o] = (double)b[o];
            for (int d = 0; d < D; d++) y.at[t][o] += x->at[t][d] * (double)w[d][o];
        }
    return y;
}

/* First sines, then cosines. */
static double sinusoid(int place, int d)
{
    int    half = D / 2;
    double angle = place * exp(-(d % half) * log(1e4) / (half - 1));
    return d < half ? sin(angle) : cos(angle);
}

/* Signals, then the layer. */
static matrix step_of(const alone *a, const mtf_universal_opts *u, matrix x, int step, int steps)
{
    float table[(STEPS + 1) * D] = {0};
    int   from = u->start == MTF_START_BY_STEP ? MAX_LENGTH * step / steps : 0;
    if (!u->no_step_signal && !u->sinusoid_steps) alone_values(a, "step_embedding", table);
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++) {
            if (!u->no_position_signal) x.at[t][d] += sinusoid(alone_position[t] + from, d);
            if (u->no_step_signal) continue;
            x.at[t][d] +=
                u->sinusoid_steps ? sinusoid(step, d) : (double)table[step * D + d] * sqrt(D);
        }
    x = times(a, &x, "wi/kernel", NULL);
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++) x.at[t][d] = x.at[t][d] > 0 ? x.at[t][d] : 0;
    return times(a, &x, "wo/kernel", NULL);
}

static matrix input_of(const alone *a)
{
    matrix x;
    memcpy(x.at, a->x, sizeof x.at);
    return x;
}

static void compare(alone *a, matrix *want)
{
    alone_compare(a, want->at);
    close_well(a->session);
}

/* ---- recurrences ---- */

static void test_basic(void **state)
{
    static const mtf_universal_opts cases[] = {
        {.steps = STEPS},
        {.steps = STEPS, .start = MTF_START_BY_STEP, .no_step_signal = true},
        {.steps = STEPS, .start = MTF_START_RANDOM, .sinusoid_steps = true},
        {.steps = STEPS, .no_position_signal = true}};
    (void)state;
    for (int k = 0; k < 4; k++) {
        alone a;
        apply(&a, &cases[k], k % 2);
        matrix x = input_of(&a);
        for (int s = 0; s < STEPS; s++) x = step_of(&a, &cases[k], x, s, STEPS);
        compare(&a, &x);
    }
}

/* x / sqrt(mean of x^2 + 1e-6) * scale, then a dense layer, then the sigmoid. */
static matrix gate(const alone *a, matrix x)
{
    float scale[D];
    alone_values(a, "highway/input_0/rms_norm/scale", scale);
    for (int t = 0; t < LENGTH; t++) {
        double sum = 0;
        for (int d = 0; d < D; d++) sum += x.at[t][d] * x.at[t][d];
        for (int d = 0; d < D; d++) x.at[t][d] *= (double)scale[d] / sqrt(sum / D + 1e-6);
    }
    x = times(a, &x, "highway/transform/kernel", "highway/transform/bias");
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++) x.at[t][d] = 1 / (1 + exp(-x.at[t][d]));
    return x;
}

static void test_highway(void **state)
{
    static const char *const inputs[] = {"i", "s", "t"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        mtf_universal_opts u = {
            .recurrence = MTF_RECURRENCE_HIGHWAY, .steps = STEPS, .gate_inputs = inputs[k]};
        alone a;
        apply(&a, &u, true);
        matrix first = input_of(&a), x = first;
        for (int s = 0; s < STEPS; s++) {
            matrix y = step_of(&a, &u, x, s, STEPS);
            matrix g = gate(&a, k == 0 ? first : k == 1 ? x : y);
            for (int t = 0; t < LENGTH; t++)
                for (int d = 0; d < D; d++) x.at[t][d] += g.at[t][d] * (y.at[t][d] - x.at[t][d]);
        }
        compare(&a, &x);
    }
}

/* ---- gates of several inputs ---- */

/* activation([x, y] kernel + bias): of one dense layer, or with relu(..) between two. */
static matrix pair(const alone *a, const char *gate, bool deep, const matrix *x, const matrix *y,
                   double (*activation)(double))
{
    enum { HIDDEN = 4 * D };
    float  in[2 * D * HIDDEN], b[HIDDEN] = {0}, out[HIDDEN * D], last[D];
    matrix z = {0};
    char   name[60];
    int    hidden = deep ? HIDDEN : D;
    snprintf(name, sizeof name, "gating/%s%s/kernel", gate, deep ? "/wi" : "");
    alone_values(a, name, in);
    snprintf(name, sizeof name, "gating/%s%s/bias", gate, deep ? "/wi" : "");
    alone_values(a, name, b);
    snprintf(name, sizeof name, "gating/%s/wo/kernel", gate);
    if (deep) alone_values(a, name, out);
    snprintf(name, sizeof name, "gating/%s/wo/bias", gate);
    if (deep) alone_values(a, name, last);
    for (int t = 0; t < LENGTH; t++)
        for (int h = 0; h < hidden; h++) {
            double sum = (double)b[h];
            for (int d = 0; d < D; d++)
                sum += x->at[t][d] * (double)in[d * hidden + h] +
                       y->at[t][d] * (double)in[(D + d) * hidden + h];
            if (!deep) z.at[t][h] = sum;
            for (int o = 0; deep && o < D; o++)
                z.at[t][o] +=
                    (h ? 0 : (double)last[o]) + (sum > 0 ? sum : 0) * (double)out[h * D + o];
        }
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++) z.at[t][d] = activation(z.at[t][d]);
    return z;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* A gated recurrent unit instead of a residual connection. */
static matrix unit(const alone *a, bool deep, const matrix *x, const matrix *y)
{
    matrix update = pair(a, "update", deep, x, y, sigmoid);
    matrix reset = pair(a, "reset", deep, x, y, sigmoid), kept = *x, z = *x;
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++) kept.at[t][d] *= reset.at[t][d];
    matrix candidate = pair(a, "candidate", deep, &kept, y, tanh);
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++)
            z.at[t][d] += update.at[t][d] * (candidate.at[t][d] - x->at[t][d]);
    return z;
}

static void test_gated_unit(void **state)
{
    static const char *const around[] = {"call_layer", "residual", NULL};
    (void)state;
    for (int deep = 0; deep < 2; deep++) {
        alone              a;
        mtf_universal_opts u = {.steps = 2,
                                .no_position_signal = true,
                                .no_step_signal = true,
                                .gated = true,
                                .gating = MTF_GATING_GRU,
                                .deep_gates = deep};
        alone_apply(&a, &(mtf_stack_opts){.layers = layers, .per_layer = around, .universal = &u},
                    true);
        matrix x = input_of(&a);
        for (int s = 0; s < 2; s++) {
            matrix y = step_of(&a, &u, x, s, 2);
            x = unit(&a, deep, &x, &y);
        }
        compare(&a, &x);
    }
}

/* Signals beside the state, and a dense layer of all. */
static void test_beside(void **state)
{
    alone              a;
    mtf_universal_opts u = {.steps = 2, .concat = true},
                       none = {.no_position_signal = true, .no_step_signal = true};
    float w[3 * D][D], table[2 * D];
    (void)state;
    apply(&a, &u, true);
    alone_values(&a, "timing_projection/kernel", &w[0][0]);
    alone_values(&a, "step_embedding", table);
    matrix x = input_of(&a);
    for (int s = 0; s < 2; s++) {
        matrix y = {0};
        for (int t = 0; t < LENGTH; t++)
            for (int o = 0; o < D; o++)
                for (int d = 0; d < D; d++)
                    y.at[t][o] += x.at[t][d] * (double)w[d][o] +
                                  sinusoid(alone_position[t], d) * (double)w[D + d][o] +
                                  (double)table[s * D + d] * sqrt(D) * (double)w[2 * D + d][o];
        x = step_of(&a, &none, y, s, 2);
    }
    compare(&a, &x);
}

/* ---- halting ---- */

/* The logit of halting, of each position or as a mean over what it sees. */
static void logits_of(const alone *a, const matrix *x, bool global, bool causal, double *to)
{
    float  w[D], b;
    double own[LENGTH];
    alone_values(a, "halting/kernel", w);
    alone_values(a, "halting/bias", &b);
    for (int t = 0; t < LENGTH; t++) {
        own[t] = (double)b;
        for (int d = 0; d < D; d++) own[t] += x->at[t][d] * (double)w[d];
    }
    for (int t = 0; t < LENGTH; t++) {
        double sum = 0;
        int    n = 0;
        for (int k = 0; k < LENGTH; k++)
            if (alone_segment[k] == alone_segment[t] && (k <= t || !causal)) sum += own[k], n++;
        to[t] = global ? sum / n : own[t];
    }
}

typedef struct halt {
    double sum[LENGTH], remainder[LENGTH];
    bool   halted[LENGTH];
} halt;

/* The weight of a step for a position: the algorithm of adaptive computation time. */
static double weight_of(halt *h, int t, double p)
{
    double left = 1 - h->sum[t];
    if (h->halted[t]) return 0;
    if (h->sum[t] + p <= 0.99) {
        h->sum[t] += p;
        return p;
    }
    h->halted[t] = true;
    return left;
}

/* Steps in which positions halt: all do, and unless they decide together, not all in one step. */
static void assert_varied(const int *last, bool together)
{
    int least = STEPS + 1, most = -1;
    for (int t = 0; t < LENGTH; t++) {
        assert_true(last[t] >= 0);
        if (last[t] < least) least = last[t];
        if (last[t] > most) most = last[t];
    }
    assert_true(together || least < most);
}

static void test_halting(void **state)
{
    (void)state;
    for (int kind = MTF_HALTING_BASIC; kind <= MTF_HALTING_GLOBAL; kind++) {
        bool               causal = kind % 2 == 0, random = kind == MTF_HALTING_RANDOM;
        mtf_universal_opts u = {
            .recurrence = MTF_RECURRENCE_ACT, .steps = STEPS, .halting = (mtf_halting)kind};
        for (int again = 0; again < 2; again++, causal = !causal) {
            alone  a;
            halt   h = {0};
            matrix out = {0};
            int    last[LENGTH];
            for (int t = 0; t < LENGTH; t++) last[t] = -1;
            apply(&a, &u, causal);
            matrix x = input_of(&a);
            for (int s = 0; s <= STEPS; s++) {
                double logit[LENGTH] = {0}; /* a random probability is 1/2 here */
                if (!random) logits_of(&a, &x, kind == MTF_HALTING_GLOBAL, causal, logit);
                x = step_of(&a, &u, x, s, STEPS + 1);
                for (int t = 0; t < LENGTH; t++) {
                    double w = weight_of(&h, t, 1 / (1 + exp(-logit[t])));
                    if (h.halted[t] && last[t] < 0) last[t] = s;
                    for (int d = 0; d < D; d++) {
                        if (kind != MTF_HALTING_ACCUMULATED) out.at[t][d] *= 1 - w;
                        out.at[t][d] += w * x.at[t][d];
                    }
                }
            }
            compare(&a, &out);
            assert_varied(last, random || kind == MTF_HALTING_GLOBAL);
        }
    }
}

/* ---- refusals ---- */

static void refused(mtf_stack_opts o, const char *why)
{
    mtf_session *s = open_two_threads();
    o.layers = layers;
    assert_null(mtf_transformer_new(
        s, &(mtf_transformer_opts){.d_model = 7, .input_vocab = D, .stack = o}));
    assert_contains(mtf_error(s), why);
    mtf_close(s);
}

static void test_refused(void **state)
{
    (void)state;
    refused((mtf_stack_opts){.universal = &(mtf_universal_opts){.steps = -1}},
            "transformer: -1 steps of 1 passes");
    refused((mtf_stack_opts){.universal = &(mtf_universal_opts){.epsilon = 1}},
            "the epsilon of halting is 1; it must be between 0 and 1");
    refused((mtf_stack_opts){.universal = &(mtf_universal_opts){.gate_inputs = "sx"}},
            "gates follow from s (state), t (transformed) and i (input), not from \"sx\"");
    refused((mtf_stack_opts){.universal = &(mtf_universal_opts){.steps = 2}, .reversible = true},
            "a stack is either reversible or universal");
    refused((mtf_stack_opts){.positions = MTF_POSITIONS_NONE,
                             .universal = &(mtf_universal_opts){.steps = 2}},
            "sinusoid positions need an even d_model, not 7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basic),      cmocka_unit_test(test_highway),
        cmocka_unit_test(test_gated_unit), cmocka_unit_test(test_beside),
        cmocka_unit_test(test_halting),    cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
