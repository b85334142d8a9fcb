/* Tests gradients of layers and stacks that mix positions: by differences, in f64. */
#include "mtf_transformer.h"

/* last */
#include "ground.h"

enum { D = 8, LENGTH = 9, VARIABLES = 40, MOST = 1024 };

static const int32_t ids[LENGTH] = {5, 2, 7, 3, 6, 4, 2, 0, 0};
static const int32_t segment[LENGTH] = {1, 1, 1, 1, 2, 2, 2, 0, 0};

static const mtf_transformer_layer soft[] = {
    {MTF_FEED_FORWARD, .feed_forward = {.hidden = D, .activation = {"tanh"}}}, {0}};
static const mtf_transformer_layer reads[] = {
    {MTF_ENC_DEC_ATTENTION, .attention = {.heads = 2, .kv = 4}}, {0}};

typedef struct graph {
    mtf_program *program;
    mtf_tensor  *loss, *variables[VARIABLES], *gradients[VARIABLES];
    int          count;
} graph;

/* How far along the direction from where the test stands; the direction itself. */
static double direction(int k, int64_t i)
{
    return cos((double)k * 1.3 + (double)i * 0.7);
}

static void place(const graph *g, double step)
{
    double v[MOST];
    for (int k = 0; k < g->count; k++) {
        int64_t n = mtf_shape_size(mtf_shape_of_tensor(g->variables[k]));
        assert_true(n <= MOST);
        for (int64_t i = 0; i < n; i++)
            v[i] = 0.5 * sin((double)(k + 1) * 1.7 + (double)i * 0.9) + step * direction(k, i);
        assert_true(mtf_variable_set(g->variables[k], v));
    }
}

static double loss_at(const graph *g, double step)
{
    place(g, step);
    assert_true(mtf_step(g->program));
    return mtf_fetch_scalar(g->program, g->loss);
}

static graph build(mtf_session *s, const mtf_transformer_opts *o)
{
    graph                 b = {0};
    mtf_transformer      *m = mtf_transformer_new(s, o);
    mtf_graph            *g = mtf_graph_new(s);
    mtf_shape             row = mtf_shape((mtf_dim){"batch", 1}, (mtf_dim){"length", LENGTH});
    mtf_tensor           *in = mtf_constant_data(g, ids, MTF_I32, row);
    mtf_tensor           *parts = mtf_constant_data(g, segment, MTF_I32, row);
    mtf_transformer_batch t = {
        .inputs = in, .inputs_segment = parts, .targets = in, .targets_segment = parts};
    mtf_tensor *y = mtf_transformer_apply(m, &t, NULL).logits;
    b.loss = mtf_reduce_mean(mtf_square(mtf_cast(y, MTF_F64)), MTF_ALL);
    b.count = mtf_variables(g, b.variables, VARIABLES);
    mtf_tensor *fetches[VARIABLES + 1] = {b.loss};
    mtf_gradients(1, &b.loss, b.count, b.variables, NULL, b.gradients);
    for (int k = 0; k < b.count; k++) fetches[k + 1] = b.gradients[k];
    b.program = mtf_compile_n(g, b.count + 1, fetches);
    if (!b.program) fail_msg("%s", mtf_error(s));
    return b;
}

static void check(const char *what, mtf_transformer_opts o)
{
    mtf_session *s = open_two_threads();
    o.d_model = o.input_vocab = o.vocab_divisor = D;
    o.activation = MTF_F64;
    o.no_shift = true;
    o.stack.blocks = 1;
    o.stack.max_length = o.encoder.max_length = 16;
    graph  g = build(s, &o);
    double sum = 0, v[MOST], h = 1e-3;
    loss_at(&g, 0);
    for (int k = 0; k < g.count; k++) {
        assert_true(mtf_fetch(g.program, g.gradients[k], v));
        int64_t n = mtf_shape_size(mtf_shape_of_tensor(g.variables[k]));
        for (int64_t i = 0; i < n; i++) sum += v[i] * direction(k, i);
    }
    double slope = (loss_at(&g, h) - loss_at(&g, -h)) / (2 * h);
    if (!(fabs(sum - slope) < 1e-3 * (fabs(slope) + 1e-2)))
        fail_msg("%s: the gradient says %.9g, differences say %.9g", what, sum, slope);
    close_well(s);
}

static void test_layers(void **state)
{
    static const mtf_transformer_layer kinds[] = {
        {MTF_CONVOLUTION, .convolution = {.activation = "tanh"}},
        {MTF_SEPARABLE_CONVOLUTION, .convolution = {.min_position = -2}},
        {MTF_LIGHTWEIGHT_CONVOLUTION, .convolution = {.min_position = -2, .filters = 2}},
        {MTF_DYNAMIC_CONVOLUTION, .convolution = {.min_position = -2, .filters = 4}},
        {MTF_LOCAL_CONV_BLOCK, .convolution = {.dynamic = true}},
    };
    (void)state;
    for (int k = 0; k < 5; k++) {
        mtf_transformer_layer layers[] = {kinds[k], {0}};
        check("a layer", (mtf_transformer_opts){.stack = {.layers = layers}});
    }
}

static void test_stacks(void **state)
{
    static const mtf_universal_opts universal[] = {
        {.steps = 2, .gated = true, .gating = MTF_GATING_GRU},
        {.recurrence = MTF_RECURRENCE_HIGHWAY, .steps = 2, .gate_inputs = "st", .uncoupled = true},
        {.recurrence = MTF_RECURRENCE_ACT, .steps = 2},
        {.recurrence = MTF_RECURRENCE_ACT, .steps = 2, .halting = MTF_HALTING_GLOBAL}};
    (void)state;
    for (int k = 0; k < 4; k++)
        check("a universal stack",
              (mtf_transformer_opts){.stack = {.layers = soft, .universal = &universal[k]}});
    for (int kind = MTF_POOLING_MEAN; kind <= MTF_POOLING_MIN; kind++) {
        mtf_funnel_opts f = {
            .blocks = 2, .layers = (const int64_t[]){1, 1}, .kind = (mtf_pooling)kind};
        check("a funnel",
              (mtf_transformer_opts){.stack = {.layers = reads},
                                     .encoder = {.layers = soft, .blocks = 2, .funnel = &f}});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers),
                                       cmocka_unit_test(test_stacks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
