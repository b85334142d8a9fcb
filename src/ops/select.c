/* Select, cast and the elementwise operations made of others. */
#include <math.h>

#include "base/dtype.h"
#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/splits.h"
#include "ops/tape.h"
#include "program/scalar.h"

/* ---- where ---- */

static bool infer_where(node *n)
{
    if (n->in[0]->type != MTF_BOOL)
        return node_fail(n, ERR_TYPE, "the condition \"%s\" is %s; it must be bool",
                         tensor_name(n->in[0]), mtf_dtype_name(n->in[0]->type));
    if (n->in[1]->type != n->in[2]->type)
        return node_fail(n, ERR_TYPE, "\"%s\" is %s but \"%s\" is %s: cast one of them",
                         tensor_name(n->in[1]), mtf_dtype_name(n->in[1]->type),
                         tensor_name(n->in[2]), mtf_dtype_name(n->in[2]->type));
    TRY(node_sizes_agree(n));
    /* The branches' dimensions come first, unless the condition contains them in order. */
    mtf_shape shape = n->in[1]->shape;
    for (int k = 0; k < 2; k++) {
        const mtf_shape *y = &n->in[k == 0 ? 2 : 0]->shape;
        shape = shape_is_subsequence(&shape, y) ? *y : mtf_shape_plus(shape, *y);
    }
    TRY(shape_check(&shape, n->op->name, &n->graph->session->fault));
    return node_output(n, n->in[1]->type, &shape);
}

static void grad_where(tape *t, const node *n, mtf_tensor *const *dy)
{
    mtf_tensor *none = mtf_constant(n->graph, 0, n->out[0]->type, mtf_shape());
    if (tape_wants(t, n->in[1])) tape_give(t, n->in[1], mtf_where(n->in[0], dy[0], none));
    if (tape_wants(t, n->in[2])) tape_give(t, n->in[2], mtf_where(n->in[0], none, dy[0]));
}

static bool lower_where(emitter *e, const node *n, const slice *in, slice *out)
{
    (void)n;
    if (slice_is_uniform(&in[0])) { /* decided already: a view of one branch */
        mtf_shape shape = out[0].shape;
        out[0] = slice_as(&in[in[0].value.whole ? 1 : 2], &shape);
        return true;
    }
    out[0] = emit_fresh(e, out[0].type, &out[0].shape);
    return emit_scalar(e, FN_SELECT, 3, in, &out[0]);
}

const op op_where = {
    .name = "where",
    .says =
        "x where the condition holds, else y; what is not selected does not matter, not even NaN",
    .args = "condition, x, y",
    .infer = infer_where,
    .grad = grad_where,
    .lower = lower_where,
    .split = split_free,
};

mtf_tensor *mtf_where(mtf_tensor *condition, mtf_tensor *x, mtf_tensor *y)
{
    return node_one(&op_where, 3, (mtf_tensor *[]){condition, x, y}, NULL);
}

/* ---- cast ---- */

static bool infer_cast(node *n)
{
    if ((unsigned)n->attrs[0].type >= DTYPES) return node_fail(n, ERR_TYPE, "no such element type");
    return node_output(n, n->attrs[0].type, &n->in[0]->shape);
}

/* Gradients of f8 tensors are f32. */
static void grad_cast(tape *t, const node *n, mtf_tensor *const *dy)
{
    mtf_dtype type = n->in[0]->type;
    tape_give(t, n->in[0], mtf_cast(dy[0], dtype_is_f8(type) ? MTF_F32 : type));
}

static bool lower_cast(emitter *e, const node *n, const slice *in, slice *out)
{
    (void)n;
    slice want = out[0], from = *in;
    if (e->exact && dtype_is_float(want.type)) TRY(emit_real(e, &from)); /* folding would round */
    if (slice_is_uniform(&from)) {
        out[0] =
            slice_of_scalar(scalar_cast(want.type, in->type, in->value), want.type, &want.shape);
        return true;
    }
    out[0] = from;
    if (in->type == want.type) return true;
    out[0] = emit_fresh(e, want.type, &want.shape);
    return emit_cast(e, &from, &out[0]);
}

/* A partial sum may widen; narrowed, each part would be rounded by itself. */
static debt cast_debt(const node *n, int input)
{
    (void)input;
    mtf_dtype from = n->in[0]->type, to = n->out[0]->type;
    bool      widens = mtf_dtype_bytes(to) > mtf_dtype_bytes(from) || to == from;
    return dtype_is_float(from) && dtype_is_float(to) && widens ? DEBT_SUM : DEBT_SETTLE;
}

const op op_cast = {
    .name = "cast",
    .says =
        "converts to another element type; floats to integers toward zero, saturating, NaN to 0; "
        "i64 to i32 wraps around; what f8 has no number for becomes its largest",
    .args = "x",
    .attrs = (const attr_spec[]){{"type", ATTR_TYPE, NULL, "the new type"}, {0}},
    .flags = OP_F8,
    .infer = infer_cast,
    .grad = grad_cast,
    .lower = lower_cast,
    .split = split_free,
    .debt = cast_debt,
};

mtf_tensor *mtf_cast(mtf_tensor *x, mtf_dtype type)
{
    if (graph_of(x) && x->type == type) return x;
    return node_unary(&op_cast, x, &(attr){.type = type});
}

/* ---- operations on a tensor and a number ---- */

static mtf_tensor *number(mtf_tensor *x, double value)
{
    return x ? mtf_constant(graph_of(x), value, x->type, mtf_shape()) : NULL;
}

mtf_tensor *mtf_add_scalar(mtf_tensor *x, double y)
{
    return mtf_add(x, number(x, y));
}

mtf_tensor *mtf_scale(mtf_tensor *x, double y)
{
    return mtf_multiply(x, number(x, y));
}

mtf_tensor *mtf_add_n(int n, mtf_tensor *const *xs)
{
    mtf_tensor *sum = n > 0 ? xs[0] : NULL;
    for (int i = 1; i < n; i++) sum = mtf_add(sum, xs[i]);
    return sum;
}

/* ---- made of others ---- */

mtf_tensor *mtf_identity(mtf_tensor *x)
{
    return graph_of(x) ? x : NULL;
}

mtf_tensor *mtf_swish(mtf_tensor *x)
{
    return mtf_silu(x);
}

mtf_tensor *mtf_leaky_relu(mtf_tensor *x, double alpha)
{
    return mtf_where(mtf_greater(x, number(x, 0)), x, mtf_scale(x, alpha));
}

/* A bound beyond the range of a floating type has no effect. */
static mtf_tensor *bound(mtf_tensor *x, attr_number value)
{
    char            text[DTYPE_REFUSAL];
    const mtf_shape one = {0};
    if (dtype_is_float(x->type) && number_refused(x->type, value, text))
        value = (attr_number){.r = copysign((double)INFINITY, value.r)};
    return call_constant(graph_of(x), value, x->type, &one);
}

static mtf_tensor *clip(mtf_tensor *x, attr_number low, attr_number high)
{
    if (!x) return NULL;
    return mtf_minimum(mtf_maximum(x, bound(x, low)), bound(x, high));
}

mtf_tensor *mtf_clip(mtf_tensor *x, double low, double high)
{
    return clip(x, (attr_number){.r = low}, (attr_number){.r = high});
}

static void expand_identity(op_call *c)
{
    c->out[0] = mtf_identity(c->in[0]);
}

static void expand_swish(op_call *c)
{
    c->out[0] = mtf_swish(c->in[0]);
}

static void expand_leaky_relu(op_call *c)
{
    c->out[0] = mtf_leaky_relu(c->in[0], c->attrs[0].r);
}

static void expand_clip(op_call *c)
{
    c->out[0] = clip(c->in[0], c->attrs[0].number, c->attrs[1].number);
}

const op op_identity = {
    .name = "identity", .says = "x itself", .args = "x", .expand = expand_identity};
const op op_swish = {
    .name = "swish", .says = "another name of silu", .args = "x", .expand = expand_swish};
const op op_leaky_relu = {
    .name = "leaky_relu",
    .says = "x, or alpha * x at and below 0",
    .args = "x",
    .attrs = (const attr_spec[]){{"alpha", ATTR_REAL, "0.2", "slope below 0"}, {0}},
    .expand = expand_leaky_relu,
};
const op op_clip = {
    .name = "clip",
    .says = "x cut to low .. high",
    .args = "x",
    .attrs = (const attr_spec[]){{"low", ATTR_NUMBER, NULL, "smallest value"},
                                 {"high", ATTR_NUMBER, NULL, "largest value"},
                                 {0}},
    .expand = expand_clip,
};
