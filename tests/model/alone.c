/* A stack alone: the embedding is its input, and its results are the logits, for comparisons in double. */
#include "alone.h"

#include "graph/node.h"

/* last */
#include "ground.h"

enum { D = ALONE_D, LENGTH = ALONE_LENGTH, MOST = 1024 };

const int32_t alone_segment[LENGTH] = {1, 1, 1, 1, 2, 2, 2, 0, 0};
const int32_t alone_position[LENGTH] = {0, 1, 2, 3, 0, 1, 2, 0, 0};

/* From -1 to 1. */
static float number_of(int variable, int64_t i)
{
    return (float)sin((double)(variable + 1) * 1.7 + (double)i * (0.9 + 0.13 * variable));
}

static bool ends(const mtf_tensor *x, const char *end)
{
    const char *name = mtf_name_of_tensor(x);
    size_t      n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static mtf_tensor *variable_of(const alone *a, const char *end)
{
    for (int k = 0; k < a->count; k++)
        if (ends(a->variables[k], end)) return a->variables[k];
    fail_msg("there is no variable \"%s\"", end);
    return NULL;
}

void alone_values(const alone *a, const char *end, float *to)
{
    assert_true(mtf_variable_get(variable_of(a, end), to));
}

void alone_variables(alone *a, mtf_graph *g)
{
    a->count = mtf_variables(g, a->variables, ALONE_VARIABLES);
    float one[D * D] = {0}, v[MOST];
    for (int k = 0; k < a->count; k++) {
        int64_t n = mtf_shape_size(mtf_shape_of_tensor(a->variables[k]));
        assert_true(n <= MOST);
        for (int64_t i = 0; i < n; i++) v[i] = number_of(k, i);
        /* States grow from step to step: what halts by them must not saturate at once. */
        for (int64_t i = 0; i < n && ends(a->variables[k], "halting/kernel"); i++) v[i] *= -0.003F;
        if (ends(a->variables[k], "halting/bias")) v[0] = -0.9F;
        assert_true(mtf_variable_set(a->variables[k], v));
    }
    for (int k = 0; k < D; k++) one[k * D + k] = 1;
    assert_true(mtf_variable_set(variable_of(a, "logits/kernel"), one));
}

static mtf_transformer *model_of(mtf_session *s, const mtf_stack_opts *stack, bool causal)
{
    static const char *const call[] = {"call_layer", NULL}, *const nothing[] = {NULL};
    mtf_transformer_opts o = {.d_model = D,
                              .input_vocab = D,
                              .vocab_divisor = D,
                              .bidirectional = !causal,
                              .no_shift = true,
                              .stack = *stack};
    o.stack.blocks = 1;
    o.stack.positions = MTF_POSITIONS_NONE;
    o.stack.initial = o.stack.final = nothing;
    if (!o.stack.per_layer) o.stack.per_layer = call;
    return mtf_transformer_new(s, &o);
}

void alone_apply(alone *a, const mtf_stack_opts *stack, bool causal)
{
    static const int32_t ids[LENGTH] = {5, 2, 7, 3, 6, 4, 2, 0, 0};
    float                table[D][D];
    *a = (alone){.session = open_two_threads()};
    mtf_transformer       *m = model_of(a->session, stack, causal);
    mtf_graph             *g = mtf_graph_new(a->session);
    mtf_shape              row = mtf_shape((mtf_dim){"batch", 1}, (mtf_dim){"length", LENGTH});
    mtf_tensor            *in = mtf_constant_data(g, ids, MTF_I32, row);
    mtf_tensor            *parts = mtf_constant_data(g, alone_segment, MTF_I32, row);
    mtf_tensor            *places = mtf_constant_data(g, alone_position, MTF_I32, row);
    mtf_transformer_batch  b = {in, parts, places, in, parts, places, NULL};
    mtf_transformer_result r = mtf_transformer_apply(m, &b, NULL);
    mtf_program           *p = mtf_compile(g, r.logits);
    if (!p) fail_msg("%s", mtf_error(a->session));
    alone_variables(a, g);
    alone_values(a, "embedding", &table[0][0]);
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++) a->x[t][d] = alone_segment[t] ? (double)table[ids[t]][d] : 0;
    mtf_step(p);
    assert_true(mtf_fetch(p, r.logits, a->y));
}

double alone_at(const alone *a, int t, int ahead, int d)
{
    int  there = t + ahead;
    bool own = there >= 0 && there < LENGTH && alone_segment[there] == alone_segment[t];
    return own ? a->x[there][d] : 0;
}

void alone_compare(const alone *a, double want[LENGTH][D])
{
    for (int t = 0; t < LENGTH; t++)
        for (int d = 0; d < D; d++)
            if (alone_segment[t] &&
                fabs((double)a->y[t][d] - want[t][d]) > 1e-5 * fmax(1, fabs(want[t][d])))
                fail_msg("position %d, channel %d: %.8g instead of %.8g", t, d, (double)a->y[t][d],
                         want[t][d]);
}
