/* Random numbers: functions of seed, op, step and position.
 *
 * Each op has a key, given once and kept when nodes are copied, so that a
 * recomputed region draws the same numbers.  The iterations of all enclosing
 * loops are inputs.  So is the number of a part, where a dimension comes in parts:
 * it says where in the whole dimension the numbers are.
 */
#include <math.h>

#include "base/dtype.h"
#include "base/whole.h"
#include "ops/call.h"
#include "ops/lowering.h"

enum { SHAPE, TYPE, A, B, KEY, ONCE, PART_OF, WHOLE, PARTS };

/* A double beyond 2^53 may be a whole number that was rounded; only both ends of the type are taken
 * as they are. */
static bool i64_bound_fits(const node *n, const char *name, double bound)
{
    if (bound == floor(bound) && (fabs(bound) < 0x1p53 || fabs(bound) == 0x1p63)) return true;
    return node_fail(
        n, ERR_VALUE,
        "%s is %.16g; bounds of i64 are whole numbers between -2^53 and 2^53, or -2^63 "
        "and 2^63",
        name, bound);
}

/* Integers reach up to the number before `high`. */
static bool bounds_fit(const node *n, mtf_dtype type, double low, double high)
{
    char text[DTYPE_REFUSAL];
    if (type == MTF_BOOL)
        return (high >= 0 && high <= 1) ||
               node_fail(n, ERR_VALUE,
                         "high is %.15g; a bool is true with a probability from 0 to 1", high);
    if (!(low < high))
        return node_fail(n, ERR_VALUE, "low is %g and high %g; low must be below high", low, high);
    if (type == MTF_I64) return i64_bound_fits(n, "low", low) && i64_bound_fits(n, "high", high);
    if (type == MTF_I32)
        return (low >= -0x1p31 && high <= 0x1p31 && low == floor(low) && high == floor(high)) ||
               node_fail(n, ERR_VALUE,
                         "low is %.15g and high %.15g; %s takes whole numbers in its range", low,
                         high, mtf_dtype_name(type));
    const char *refusal = dtype_refuses(type, low, text);
    if (!refusal) refusal = dtype_refuses(type, high, text);
    return !refusal || node_fail(n, ERR_VALUE, "%s", refusal);
}

static dim_part part_in(const node *n)
{
    return (dim_part){n->attrs[PART_OF].text, n->attrs[WHOLE].i, n->attrs[PARTS].i};
}

/* The last part has the last element of the whole dimension, or ends before it. */
static bool part_is_right(const node *n, const mtf_shape *shape)
{
    dim_part p = part_in(n);
    if (!p.dim || !*p.dim) return true;
    int64_t size = mtf_shape_dim(*shape, p.dim).size;
    if (size && n->nargs && p.parts > 0 && size <= ceil_div(p.whole, p.parts)) return true;
    return node_fail(
        n, ERR_VALUE,
        "part_of=%s takes a dimension of the result, the number of the part as last input, "
        "and `whole` and `parts` such that the part lies in the whole dimension",
        p.dim);
}

static bool infer(node *n)
{
    if (!n->attrs[SHAPE].shape)
        return node_fail(n, ERR_SHAPE, "give type and shape, as in  x: f32[a=2, b=3] = %s",
                         n->op->name);
    mtf_shape shape = *n->attrs[SHAPE].shape;
    mtf_dtype type = n->attrs[TYPE].type;
    TRY(shape_check(&shape, n->op->name, &n->graph->session->fault));
    if (!dtype_is_float(type) && n->op != &op_random_uniform)
        return node_fail(n, ERR_TYPE, "normal numbers are floating, not %s", mtf_dtype_name(type));
    for (int i = 0; i < n->nargs; i++)
        if (n->in[i]->type != MTF_I32 || n->in[i]->shape.ndims)
            return node_fail(n, ERR_TYPE, "the iteration \"%s\" must be an i32 scalar",
                             tensor_name(n->in[i]));
    TRY(part_is_right(n, &shape));
    if (n->attrs[ONCE].b && n->nargs)
        return node_fail(n, ERR_USAGE,
                         "once=true gives the same numbers in every iteration, so it takes no "
                         "iteration; leave out \"%s\"",
                         tensor_name(n->in[0]));
    if (n->op != &op_random_uniform && !(n->attrs[B].r >= 0))
        return node_fail(n, ERR_VALUE, "stddev is %g; a standard deviation is 0 or more",
                         n->attrs[B].r);
    TRY(n->op != &op_random_uniform || bounds_fit(n, type, n->attrs[A].r, n->attrs[B].r));
    if (n->attrs[KEY].i < 0)
        n->attrs[KEY].i = n->graph->next_key++;
    else if (n->attrs[KEY].i >= n->graph->next_key)
        n->graph->next_key = (uint32_t)n->attrs[KEY].i + 1;
    TRY(node_output(n, type, &shape));
    n->attrs[SHAPE].shape = &n->out[0]->shape;
    return true;
}

static bool lower_draw(emitter *e, const node *n, const slice *in, slice *out, draw_kind kind)
{
    draw_args how = {
        .kind = kind, .a = n->attrs[A].r, .b = n->attrs[B].r, .key = (uint32_t)n->attrs[KEY].i};
    out[0] = emit_fresh(e, out[0].type, &out[0].shape);
    placement where = emit_placement(e, &n->out[0]->shape, EVERY_DIM);
    dim_part  part = part_in(n);
    emit_global_index(e, &n->out[0]->shape, &where, &part, &how);
    return emit_draw(e, &how, n->nargs, in, &out[0]);
}

#define LOWER(name, kind)                                                                          \
    static bool name(emitter *e, const node *n, const slice *in, slice *out)                       \
    {                                                                                              \
        return lower_draw(e, n, in, out, kind);                                                    \
    }
LOWER(lower_uniform, DRAW_UNIFORM)
LOWER(lower_normal, DRAW_NORMAL)
LOWER(lower_truncated, DRAW_TRUNCATED_NORMAL)

#define RANDOM(NAME, SAYS, A_NAME, A_IS, A_SAYS, B_NAME, B_IS, B_SAYS, LOWER)                      \
    const op op_##NAME = {                                                                         \
        .name = #NAME,                                                                             \
        .says = SAYS,                                                                              \
        .args = "[iterations...]",                                                                 \
        .attrs =                                                                                   \
            (const attr_spec[]){                                                                   \
                {"shape", ATTR_SHAPE, NULL, ""},                                                   \
                {"type", ATTR_TYPE, NULL, ""},                                                     \
                {A_NAME, ATTR_REAL, A_IS, A_SAYS},                                                 \
                {B_NAME, ATTR_REAL, B_IS, B_SAYS},                                                 \
                {"key", ATTR_INT, "-1", "which stream; default: the next unused one"},             \
                {"once", ATTR_BOOL, "false", "in loops: the same in every iteration"},             \
                {"part_of", ATTR_WORD, "",                                                         \
                 "a dimension that is a part of a longer one: its element i is element "           \
                 "p + parts * i there, where p is the last input"},                                \
                {"whole", ATTR_INT, "0", "the size of the longer one"},                            \
                {"parts", ATTR_INT, "1", "how many parts it has"},                                 \
                {0}},                                                                              \
        .flags = OP_UNIQUE | OP_ITERATION | OP_DIRECT,                                             \
        .infer = infer,                                                                            \
        .lower = LOWER};                                                                           \
    mtf_tensor *mtf_##NAME(mtf_graph *g, mtf_dtype type, mtf_shape shape, double a, double b)      \
    {                                                                                              \
        return draw(g, &op_##NAME, type, &shape, a, b);                                            \
    }

static mtf_tensor *draw(mtf_graph *g, const op *o, mtf_dtype type, const mtf_shape *shape, double a,
                        double b)
{
    attr         attrs[] = {{.shape = shape}, {.type = type}, {.r = a}, {.r = b}, {.i = -1},
                            {.b = false},     {.text = ""},   {.i = 0}, {.i = 1}};
    int          niterations = 0;
    mtf_tensor **iterations = g ? loop_iterations(g, &niterations) : NULL;
    node        *n = iterations ? node_new(g, o, niterations, iterations, attrs, NULL) : NULL;
    return n ? n->out[0] : NULL;
}

RANDOM(random_uniform, "numbers from low to below high; bool: true with probability high", "low",
       "0", "smallest value", "high", "1", "upper bound", lower_uniform)
RANDOM(random_normal, "normally distributed numbers", "mean", "0", "their mean", "stddev", "1",
       "their standard deviation", lower_normal)
RANDOM(truncated_normal, "normally distributed numbers within two standard deviations", "mean", "0",
       "their mean", "stddev", "1", "standard deviation before cutting", lower_truncated)

/* ---- sampling and dropout ---- */

/* The largest of logits plus Gumbel noise is a sample of their softmax. */
mtf_tensor *mtf_sample_with_temperature(mtf_tensor *logits, mtf_dim dim, double temperature)
{
    mtf_dim mine;
    if (!call_dim(&op_sample_with_temperature, logits, dim.name, &mine)) return NULL;
    if (!(temperature >= 0)) {
        fail(&graph_of(logits)->session->fault, ERR_VALUE,
             "sample_with_temperature: the temperature is 0 or more, not %g", temperature);
        return NULL;
    }
    if (temperature == 0) return mtf_argmax(logits, mine);
    mtf_tensor *x = logits->type == MTF_F64 ? logits : mtf_cast(logits, MTF_F32);
    mtf_tensor *u =
        mtf_random_uniform(graph_of(x), mtf_dtype_of_tensor(x), mtf_shape_of_tensor(x), 1e-9, 1);
    /* u may round to 1, whose double logarithm is infinite. */
    u = u ? mtf_minimum(u, mtf_constant(graph_of(u), 1 - 0x1p-24, u->type, mtf_shape())) : NULL;
    mtf_tensor *gumbel = mtf_negative(mtf_log(mtf_negative(mtf_log(u))));
    return mtf_argmax(mtf_add(x, mtf_scale(gumbel, temperature)), mine);
}

mtf_tensor *mtf_dropout(mtf_tensor *x, double rate, mtf_shape noise)
{
    mtf_graph *g = graph_of(x);
    if (!g) return NULL;
    if (!(rate >= 0 && rate < 1)) {
        fail(&g->session->fault, ERR_VALUE, "dropout: the rate is from 0 to below 1, not %g", rate);
        return NULL;
    }
    if (noise.ndims && !shape_within(&noise, &x->shape)) {
        char a[SHAPE_TEXT], b[SHAPE_TEXT];
        fail(&g->session->fault, ERR_SHAPE,
             "dropout: the noise dimensions %s are not all of \"%s\" %s", shape_text(&noise, a),
             tensor_name(x), shape_text(&x->shape, b));
        return NULL;
    }
    if (rate == 0) return x;
    mtf_shape   shape = noise.ndims ? noise : x->shape;
    mtf_tensor *kept = mtf_random_uniform(g, MTF_BOOL, shape, 0, 1 - rate);
    mtf_tensor *scaled = dtype_is_float(x->type) ? mtf_scale(x, 1 / (1 - rate)) : x;
    return mtf_transpose(mtf_where(kept, scaled, mtf_constant(g, 0, x->type, mtf_shape())),
                         x->shape);
}

static void expand_sample(op_call *c)
{
    c->out[0] =
        mtf_sample_with_temperature(c->in[0], (mtf_dim){c->attrs[0].text, 1}, c->attrs[1].r);
}

mtf_tensor *mtf_categorical(mtf_tensor *logits, mtf_dim dim)
{
    return mtf_sample_with_temperature(logits, dim, 1);
}

static void expand_categorical(op_call *c)
{
    c->out[0] = mtf_categorical(c->in[0], (mtf_dim){c->attrs[0].text, 1});
}

static void expand_dropout(op_call *c)
{
    mtf_shape  noise = {0};
    attr_names names = c->attrs[1].names;
    for (int i = 0; i < names.n && i < MTF_SHAPE_ROOM; i++) {
        mtf_dim dim;
        if (!call_dim(c->op, c->in[0], names.v[i], &dim)) return;
        noise = mtf_shape_plus(noise, mtf_shape(dim));
    }
    c->out[0] = mtf_dropout(c->in[0], c->attrs[0].r, noise);
}

const op op_sample_with_temperature = {
    .name = "sample_with_temperature",
    .says = "an i32 index drawn with probability softmax(logits / temperature); 0: the largest",
    .args = "logits",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension of choices"},
                                 {"temperature", ATTR_REAL, "1", "0: the largest; higher: random"},
                                 {0}},
    .expand = expand_sample};
const op op_categorical = {
    .name = "categorical",
    .says = "an i32 index drawn with probability softmax(logits)",
    .args = "logits",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension of choices"}, {0}},
    .expand = expand_categorical};
const op op_dropout = {
    .name = "dropout",
    .says = "0 with probability rate, else x / (1 - rate)",
    .args = "x",
    .attrs = (const attr_spec[]){{"rate", ATTR_REAL, NULL, "from 0 to below 1"},
                                 {"noise", ATTR_NAMES, "()",
                                  "dimensions along which decisions differ; default all"},
                                 {0}},
    .expand = expand_dropout};
