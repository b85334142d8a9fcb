/* Elementwise operations, one row of program/scalars.h each.
 *
 * The row's gradient text becomes a function that builds nodes: x, y are the
 * operands, r the result, d the result's gradient.
 */
#include <math.h>

#include "base/dtype.h"
#include "ops/lowering.h"
#include "ops/splits.h"
#include "ops/tape.h"
#include "program/scalar.h"

/* ---- abbreviations for the gradient column ---- */

static mtf_tensor *mul(mtf_tensor *x, mtf_tensor *y)
{
    return mtf_multiply(x, y);
}

static mtf_tensor *neg(mtf_tensor *x)
{
    return mtf_negative(x);
}

static mtf_tensor *inc(mtf_tensor *x, double by)
{
    return mtf_add_scalar(x, by);
}

static mtf_tensor *times(mtf_tensor *x, double by)
{
    return mtf_scale(x, by);
}

static mtf_tensor *zero(mtf_tensor *x)
{
    return mtf_constant(graph_of(x), 0, mtf_dtype_of_tensor(x), mtf_shape());
}

static mtf_tensor *keep(mtf_tensor *where, mtf_tensor *d)
{
    return mtf_where(where, d, zero(d));
}

#define TWO_OVER_SQRT_PI 1.12837916709551257390
#define SQRT_2_OVER_PI 0.79788456080286535588
#define SQRT_HALF 0.70710678118654752440
#define SELU_SCALE 1.05070098735548049342
#define SELU_ALPHA 1.67326324235437728481

/* silu: s + r (1 - s), s = sigmoid(x) */
static mtf_tensor *silu_slope(mtf_tensor *x, mtf_tensor *r)
{
    mtf_tensor *s = mtf_sigmoid(x);
    return mtf_add(s, mul(r, inc(neg(s), 1)));
}

/* The second derivative of gelu, which is x s with s = sigmoid(v), v = 2 a (x + 0.044715 x^3):
 * s (1 - s) (2 v' + x v'' + x (1 - 2 s) v' v') */
static mtf_tensor *gelu_bend(mtf_tensor *x)
{
    mtf_tensor *square = mtf_square(x);
    mtf_tensor *v = mul(times(x, 2 * SQRT_2_OVER_PI), inc(times(square, 0.044715), 1));
    mtf_tensor *s = mtf_sigmoid(v), *rest = inc(neg(s), 1);
    mtf_tensor *dv = times(inc(times(square, 3 * 0.044715), 1), 2 * SQRT_2_OVER_PI);
    mtf_tensor *ddv = times(square, 12 * 0.044715 * SQRT_2_OVER_PI); /* times x */
    mtf_tensor *bend = mul(mul(x, mtf_sub(rest, s)), mtf_square(dv));
    return mul(mul(s, rest), mtf_add(mtf_add(times(dv, 2), ddv), bend));
}

/* distribution + x * density */
static mtf_tensor *gelu_exact_slope(mtf_tensor *x)
{
    mtf_tensor *below = times(inc(mtf_erf(times(x, SQRT_HALF)), 1), 0.5);
    mtf_tensor *density = times(mtf_exp(times(mtf_square(x), -0.5)), SQRT_2_OVER_PI / 2);
    return mtf_add(below, mul(x, density));
}

static mtf_tensor *constant_like(mtf_tensor *x, double value)
{
    return mtf_constant(graph_of(x), value, mtf_dtype_of_tensor(x), mtf_shape());
}

static mtf_tensor *elu_slope(mtf_tensor *x, mtf_tensor *r)
{
    return mtf_where(mtf_greater(x, zero(x)), constant_like(x, 1), inc(r, 1));
}

static mtf_tensor *selu_slope(mtf_tensor *x, mtf_tensor *r)
{
    return mtf_where(mtf_greater(x, zero(x)), constant_like(x, SELU_SCALE),
                     inc(r, SELU_SCALE * SELU_ALPHA));
}

/* y x^(y-1), and 0 for y = 0, where x^-1 may have no value. */
static mtf_tensor *pow_base_slope(mtf_tensor *x, mtf_tensor *y)
{
    mtf_tensor *safe = mtf_where(mtf_equal(y, zero(y)), constant_like(x, 1), x);
    return mul(y, mtf_pow(safe, inc(y, -1)));
}

/* x^y log x, and 0 at x = 0, where log x has no value. */
static mtf_tensor *pow_slope(mtf_tensor *x, mtf_tensor *r)
{
    mtf_tensor *positive = mtf_greater(x, zero(x));
    mtf_tensor *safe = mtf_where(positive, x, constant_like(x, 1));
    return keep(positive, mul(r, mtf_log(safe)));
}

/* ---- shape rules ---- */

/* The operand that contains the other's dimensions in order; else x's, then what y adds. */
static bool broadcast_shape(const node *n, mtf_shape *shape)
{
    TRY(node_sizes_agree(n));
    *shape = n->in[0]->shape;
    for (int i = 1; i < n->nargs; i++) {
        const mtf_shape *y = &n->in[i]->shape;
        if (shape_is_subsequence(shape, y))
            *shape = *y;
        else
            shape_join(shape, y);
    }
    return shape_check(shape, n->op->name, &n->graph->session->fault);
}

static bool infer_any(node *n)
{
    mtf_shape shape;
    if (n->in[0]->type == MTF_BOOL)
        return node_fail(n, ERR_TYPE, "\"%s\" is bool; this operation takes numbers: cast it",
                         tensor_name(n->in[0]));
    TRY(node_needs_same_type(n) && broadcast_shape(n, &shape));
    return node_output(n, n->in[0]->type, &shape);
}

static bool infer_real(node *n)
{
    return node_needs_float(n) && infer_any(n);
}

static bool infer_bits(node *n)
{
    if (dtype_is_float(n->in[0]->type))
        return node_fail(n, ERR_TYPE, "\"%s\" is %s; this operation takes i32 or i64",
                         tensor_name(n->in[0]), mtf_dtype_name(n->in[0]->type));
    return infer_any(n);
}

static bool infer_test(node *n)
{
    TRY(node_needs_float(n));
    return node_output(n, MTF_BOOL, &n->in[0]->shape);
}

static bool infer_compare(node *n)
{
    mtf_shape shape;
    TRY(node_needs_same_type(n) && broadcast_shape(n, &shape));
    return node_output(n, MTF_BOOL, &shape);
}

static bool infer_logic(node *n)
{
    mtf_shape shape;
    for (int i = 0; i < n->nargs; i++)
        if (n->in[i]->type != MTF_BOOL)
            return node_fail(n, ERR_TYPE, "\"%s\" is %s; this operation takes bool",
                             tensor_name(n->in[i]), mtf_dtype_name(n->in[i]->type));
    TRY(broadcast_shape(n, &shape));
    return node_output(n, MTF_BOOL, &shape);
}

/* ---- lowering ---- */

static bool lower_scalar(emitter *e, const node *n, const slice *in, slice *out, scalar_fn fn)
{
    bool uniform = true;
    for (int i = 0; i < n->nargs; i++) uniform = uniform && slice_is_uniform(&in[i]);
    if (uniform) { /* constants fold */
        mtf_dtype type = out[0].type;
        scalar    v = scalar_eval(fn, in[0].type, in[0].value, in[n->nargs > 1].value);
        if (dtype_is_float(type)) v = dtype_scalar(type, v.real);
        out[0] = slice_of_scalar(v, type, &out[0].shape);
        return true;
    }
    out[0] = emit_fresh(e, out[0].type, &out[0].shape);
    return emit_scalar(e, fn, n->nargs, in, &out[0]);
}

/* By one number of magnitude 1 or more: divided by others, partial sums may overflow where the whole
 * does not. */
static bool divides_by_constant(const node *n)
{
    const node *by = n->in[1]->node;
    return by->op == &op_constant && !node_attr(by, "data")->data.bytes &&
           fabs(node_attr(by, "value")->number.r) >= 1;
}

/* Owed sums pass through linear operations. */
static debt scalar_debt(const node *n, int input)
{
    if (n->op == &op_divide && input == 0 && divides_by_constant(n)) return DEBT_PRODUCT;
    if (n->op == &op_add || n->op == &op_sub || n->op == &op_negative) return DEBT_SUM;
    return n->op == &op_multiply ? DEBT_PRODUCT : DEBT_SETTLE;
}

/* ---- the rows ---- */

#define NONE NULL

#define UNARY(NAME, INFER, DX, SAYS)                                                               \
    static void grad_##NAME(tape *t, const node *n, mtf_tensor *const *dy)                         \
    {                                                                                              \
        mtf_tensor *x = n->in[0], *r = n->out[0], *d = dy[0];                                      \
        (void)r, (void)d;                                                                          \
        tape_give(t, x, DX);                                                                       \
    }                                                                                              \
    static bool lower_##NAME(emitter *e, const node *n, const slice *in, slice *out)               \
    {                                                                                              \
        return lower_scalar(e, n, in, out, FN_##NAME);                                             \
    }                                                                                              \
    const op    op_##NAME = {.name = #NAME,                                                        \
                             .says = SAYS,                                                         \
                             .args = "x",                                                          \
                             .infer = INFER,                                                       \
                             .grad = grad_##NAME,                                                  \
                             .lower = lower_##NAME,                                                \
                             .split = split_free,                                                  \
                             .debt = scalar_debt};                                                 \
    mtf_tensor *mtf_##NAME(mtf_tensor *x)                                                          \
    {                                                                                              \
        return node_unary(&op_##NAME, x, NULL);                                                    \
    }

#define BINARY(NAME, INFER, DX, DY, SAYS)                                                          \
    static void grad_##NAME(tape *t, const node *n, mtf_tensor *const *dy)                         \
    {                                                                                              \
        mtf_tensor *x = n->in[0], *y = n->in[1], *r = n->out[0], *d = dy[0];                       \
        (void)r, (void)d;                                                                          \
        if (tape_wants(t, x)) tape_give(t, x, DX);                                                 \
        if (tape_wants(t, y)) tape_give(t, y, DY);                                                 \
    }                                                                                              \
    static bool lower_##NAME(emitter *e, const node *n, const slice *in, slice *out)               \
    {                                                                                              \
        return lower_scalar(e, n, in, out, FN_##NAME);                                             \
    }                                                                                              \
    const op    op_##NAME = {.name = #NAME,                                                        \
                             .says = SAYS,                                                         \
                             .args = "x, y",                                                       \
                             .infer = INFER,                                                       \
                             .grad = grad_##NAME,                                                  \
                             .lower = lower_##NAME,                                                \
                             .split = split_free,                                                  \
                             .debt = scalar_debt};                                                 \
    mtf_tensor *mtf_##NAME(mtf_tensor *x, mtf_tensor *y)                                           \
    {                                                                                              \
        return node_binary(&op_##NAME, x, y, NULL);                                                \
    }

#define REAL1(NAME, VALUE, DX, FLOPS, SAYS) UNARY(NAME, infer_real, DX, SAYS)
#define ANY1(NAME, VALUE, DX, FLOPS, SAYS) UNARY(NAME, infer_any, DX, SAYS)
#define TEST1(NAME, VALUE, DX, FLOPS, SAYS) UNARY(NAME, infer_test, DX, SAYS)
#define LOGIC1(NAME, VALUE, DX, FLOPS, SAYS) UNARY(NAME, infer_logic, DX, SAYS)
#define REAL2(NAME, VALUE, DX, DY, FLOPS, SAYS) BINARY(NAME, infer_real, DX, DY, SAYS)
#define ANY2(NAME, VALUE, DX, DY, FLOPS, SAYS) BINARY(NAME, infer_any, DX, DY, SAYS)
#define BITS2(NAME, VALUE, DX, DY, FLOPS, SAYS) BINARY(NAME, infer_bits, DX, DY, SAYS)
#define COMPARE(NAME, VALUE, DX, DY, FLOPS, SAYS) BINARY(NAME, infer_compare, DX, DY, SAYS)
#define LOGIC2(NAME, VALUE, DX, DY, FLOPS, SAYS) BINARY(NAME, infer_logic, DX, DY, SAYS)
#include "program/scalars.h"
