/* Products in f8, with a scale for each tensor.
 *
 * The scale follows from the tensor of the same step: its largest magnitude becomes the
 * largest number of the type.  It is computed by the graph, over all parts of the tensor,
 * so no layout changes it.  The largest magnitude of a tensor with a NaN is NaN, and 0
 * times infinity is one, so neither vanishes.
 */
#include "ops/f8.h"

#include "base/dtype.h"
#include "ops/catalogue.h"

/* Below this magnitude a tensor is as good as 0; the scale stays finite. */
#define LEAST 0x1p-100

static double most_of(mtf_dtype type)
{
    return type == MTF_F8E4M3 ? 448 : 57344;
}

/* Rows first: each is folded where its magnitudes are computed. */
static mtf_tensor *largest_of(mtf_tensor *x)
{
    mtf_tensor *size = mtf_abs(x);
    int         n = x->shape.ndims;
    if (n > 1) size = mtf_reduce_max(size, mtf_shape(x->shape.dims[n - 1]));
    return size ? mtf_reduce_max(size, size->shape) : NULL;
}

/* x in an f8 type, scaled so that its largest magnitude is the type's; *unit, f32, is what it must be
 * multiplied with to be x again.  The gradient passes through the rounding, not through the scale. */
static mtf_tensor *f8_scaled(mtf_tensor *x, mtf_dtype type, mtf_tensor **unit)
{
    mtf_graph *g = graph_of(x);
    *unit = NULL;
    if (!g) return NULL;
    mtf_tensor *largest = largest_of(mtf_stop_gradient(x));
    mtf_tensor *least = mtf_constant(g, LEAST, MTF_F32, mtf_shape());
    mtf_tensor *most = mtf_constant(g, most_of(type), MTF_F32, mtf_shape());
    largest = mtf_maximum(mtf_cast(largest, MTF_F32), least);
    *unit = mtf_divide(largest, most);
    return mtf_cast(mtf_multiply(mtf_cast(x, MTF_F32), mtf_divide(most, largest)), type);
}

static mtf_tensor *before_cast(mtf_tensor *x)
{
    mtf_tensor *from = x && x->node->op == &op_cast ? x->node->in[0] : x;
    return from && dtype_is_float(from->type) && !dtype_is_f8(from->type) ? from : x;
}

mtf_tensor *f8_slope(mtf_tensor *dy, mtf_tensor **unit)
{
    mtf_tensor *product = before_cast(dy), *factor = NULL;
    for (int k = 0; product && product->node->op == &op_multiply && k < 2; k++)
        if (!factor && product->node->in[k]->shape.ndims == 0) {
            factor = product->node->in[k];
            dy = before_cast(product->node->in[1 - k]);
        }
    mtf_tensor *slope = f8_scaled(dy, MTF_F8E5M2, unit);
    if (factor) *unit = mtf_multiply(*unit, mtf_cast(factor, MTF_F32));
    return slope;
}

/* ---- einsum_f8 ---- */

static bool is_sound(const mtf_tensor *x, const mtf_tensor *y)
{
    fault            *f = &graph_of(x)->session->fault;
    const mtf_tensor *odd = !dtype_is_float(x->type) || dtype_is_f8(x->type) ? x : y;
    if (!dtype_is_float(odd->type) || dtype_is_f8(odd->type))
        return fail(
            f, ERR_TYPE,
            "einsum_f8: \"%s\" is %s; this operation takes f32, bf16, f16 and f64, and rounds "
            "to f8 itself",
            tensor_name(odd), mtf_dtype_name(odd->type));
    if (x->type == y->type) return true;
    return fail(f, ERR_TYPE, "einsum_f8: \"%s\" is %s but \"%s\" is %s: cast one of them",
                tensor_name(x), mtf_dtype_name(x->type), tensor_name(y), mtf_dtype_name(y->type));
}

/* All dimensions but those that both have. */
static mtf_shape apart(const mtf_tensor *x, const mtf_tensor *y)
{
    return mtf_shape_plus(mtf_shape_minus(x->shape, y->shape), mtf_shape_minus(y->shape, x->shape));
}

/* `output` NULL: the dimensions that both have are summed.  Where the result is bf16, so is the sum
 * before it is scaled: it is stored in half the time. */
static mtf_tensor *product(mtf_tensor *x, mtf_tensor *y, const mtf_shape *output)
{
    if (!graph_of(x) || !graph_of(y) || !is_sound(x, y)) return NULL;
    mtf_shape   shape = output ? *output : apart(x, y);
    mtf_tensor *unit[2];
    mtf_tensor *xs[] = {f8_scaled(x, MTF_F8E4M3, &unit[0]), f8_scaled(y, MTF_F8E4M3, &unit[1])};
    mtf_tensor *sum = x->type == MTF_BF16 ? einsum_short(shape, 2, xs) : mtf_einsum_n(shape, 2, xs);
    mtf_tensor *whole = mtf_multiply(mtf_cast(sum, MTF_F32), mtf_multiply(unit[0], unit[1]));
    return mtf_cast(whole, x->type);
}

mtf_tensor *mtf_einsum_f8(mtf_shape output, mtf_tensor *x, mtf_tensor *y)
{
    return product(x, y, &output);
}

static void expand(op_call *c)
{
    c->out[0] = product(c->in[0], c->in[1], c->shape);
}

const op op_einsum_f8 = {
    .name = "einsum_f8",
    .says =
        "einsum of x and y, each rounded to f8e4m3 after it was scaled by its largest magnitude, "
        "which is that of the same step; sums are f32, the result has the type of x; in its "
        "gradient, that of the result is rounded to f8e5m2 in the same way",
    .args = "x, y",
    .expand = expand};
