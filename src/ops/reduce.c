/* Reductions: dimensions disappear. */
#include <string.h>

#include "base/dtype.h"
#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/reach.h"
#include "ops/reduce.h"
#include "ops/splits.h"
#include "ops/tape.h"
#include "program/scalar.h"
#include "space/internal.h"

static const attr_spec reduce_attrs[] = {
    {"over", ATTR_NAMES, "()", "dimensions to reduce; none given, and no output shape: all"},
    {"shape", ATTR_SHAPE, NULL, "what is kept, in any order"},
    {0},
};

/* ---- shape: common to all ---- */

static bool kept_shape(node *n, mtf_shape *kept)
{
    const mtf_shape *x = &n->in[0]->shape;
    attr_names       over = n->attrs[REDUCE_OVER].names;
    if (n->attrs[REDUCE_SHAPE].shape) {
        *kept = *n->attrs[REDUCE_SHAPE].shape;
        TRY(shape_check(kept, n->op->name, &n->graph->session->fault));
        for (int i = 0; i < kept->ndims; i++) {
            mtf_dim d = mtf_shape_dim(*x, kept->dims[i].name);
            if (!d.name || d.size != kept->dims[i].size)
                return node_fail(n, ERR_SHAPE,
                                 "the output has dimension \"%s\" of size %lld, which \"%s\" lacks",
                                 kept->dims[i].name, (long long)kept->dims[i].size,
                                 tensor_name(n->in[0]));
            for (int j = 0; j < over.n; j++)
                if (strcmp(over.v[j], d.name) == 0)
                    return node_fail(n, ERR_SHAPE,
                                     "the output keeps \"%s\", which is to be reduced", d.name);
        }
        return true;
    }
    mtf_shape gone = {.ndims = over.n};
    for (int i = 0; i < over.n; i++) {
        mtf_dim d = mtf_shape_dim(*x, over.v[i]);
        char    text[SHAPE_TEXT];
        if (!d.name || i >= MTF_SHAPE_ROOM)
            return node_fail(n, ERR_SHAPE, "\"%s\" has no dimension \"%s\"; it is %s",
                             tensor_name(n->in[0]), over.v[i], shape_text(x, text));
        gone.dims[i] = d;
    }
    *kept = over.n ? mtf_shape_minus(*x, gone) : (mtf_shape){0};
    return true;
}

static bool infer_as(node *n, mtf_dtype type)
{
    mtf_shape kept;
    TRY(kept_shape(n, &kept) && node_output(n, type, &kept));
    n->attrs[REDUCE_OVER].names.n = 0; /* the shape implies it */
    n->attrs[REDUCE_SHAPE].shape = &n->out[0]->shape;
    return true;
}

static bool infer_number(node *n)
{
    if (n->in[0]->type == MTF_BOOL)
        return node_fail(n, ERR_TYPE, "\"%s\" is bool; use reduce_all or reduce_any, or cast it",
                         tensor_name(n->in[0]));
    return infer_as(n, n->in[0]->type);
}

static bool infer_bool(node *n)
{
    if (n->in[0]->type != MTF_BOOL)
        return node_fail(n, ERR_TYPE, "\"%s\" is %s; this operation takes bool",
                         tensor_name(n->in[0]), mtf_dtype_name(n->in[0]->type));
    return infer_as(n, MTF_BOOL);
}

/* Elements of x for each one of the result. */
static int64_t reduced_size(const node *n)
{
    mtf_shape reduced = mtf_shape_minus(n->in[0]->shape, n->out[0]->shape);
    return shape_size(&reduced);
}

static bool infer_index(node *n)
{
    return infer_as(n, MTF_I32) && call_positions(n->op, n->graph, reduced_size(n));
}

/* ---- lowering: a fold, or only another view where one element is all that is reduced ---- */

static slice without(slice s, const mtf_shape *dims)
{
    for (int i = 0; i < dims->ndims; i++) s = slice_drop(&s, dims->dims[i].name);
    return s;
}

static bool lower_fold(emitter *e, const node *n, const slice *in, slice *out, fold_kind kind)
{
    mtf_dtype type = out[0].type;
    mtf_shape shape = out[0].shape, reduced = mtf_shape_minus(in->shape, shape);
    (void)n;
    bool    index = kind == FOLD_ARGMAX || kind == FOLD_ARGMIN;
    int64_t count = mtf_shape_size(reduced); /* kept parts may be empty */
    if (!index && count == 1) {
        slice one = without(*in, &reduced);
        out[0] = slice_as(&one, &shape);
        return true;
    }
    scalar v = index ? (scalar){.whole = 0} : in->value;
    bool   sum = kind == FOLD_SUM;
    if (slice_is_uniform(in) && kind != FOLD_PROD &&
        (!sum || scalar_sum_of_products(type, 1, &in->value, count, &v))) {
        out[0] = slice_of_scalar(v, type, &shape);
        return true;
    }
    out[0] = emit_fresh(e, type, &shape);
    return emit_fold(e, kind, in, &out[0]);
}

#define LOWER(name, kind)                                                                          \
    static bool name(emitter *e, const node *n, const slice *in, slice *out)                       \
    {                                                                                              \
        return lower_fold(e, n, in, out, kind);                                                    \
    }
LOWER(lower_sum, FOLD_SUM)
LOWER(lower_max, FOLD_MAX)
LOWER(lower_min, FOLD_MIN)
LOWER(lower_prod, FOLD_PROD)
/* Along one cut dimension: gathers each part's extreme and its index, then reduces these.  An empty
 * part contributes the identity of the reduction, at index 0. */
static bool lower_arg(emitter *e, const node *n, const slice *in, slice *out, fold_kind arg,
                      fold_kind value)
{
    mtf_shape reduced = mtf_shape_minus(n->in[0]->shape, n->out[0]->shape);
    if (reduced.ndims != 1 || !reach_is_cut(in, reduced.dims[0].name))
        return lower_fold(e, n, in, out, arg);
    const char *dim = reduced.dims[0].name;
    slice want = out[0], best = *in, where = emit_fresh(e, MTF_I32, &want.shape), global = where,
          x = *in;
    TRY(emit_real(e, &x) && emit_fold(e, arg, &x, &where));
    global = emit_fresh(e, MTF_I32, &want.shape);
    slice begin = slice_uniform((double)emit_part(e, dim, reduced.dims[0].size).begin, MTF_I32,
                                &(mtf_shape){0});
    TRY(emit_scalar(e, FN_add, 2, (slice[]){where, begin}, &global));
    TRY(reach_totals(e, n->in[0], dim, value, &best) &&
        reach_all_parts(e, n->in[0], dim, in->cut, &global));
    slice winner = emit_fresh(e, MTF_I32, &want.shape);
    TRY(emit_fold(e, arg, &best, &winner));
    out[0] = emit_fresh(e, MTF_I32, &want.shape);
    return emit_gather(e, &global, &winner, PARTS_DIM, &out[0]);
}

static bool lower_argmax(emitter *e, const node *n, const slice *in, slice *out)
{
    return lower_arg(e, n, in, out, FOLD_ARGMAX, FOLD_MAX);
}

static bool lower_argmin(emitter *e, const node *n, const slice *in, slice *out)
{
    return lower_arg(e, n, in, out, FOLD_ARGMIN, FOLD_MIN);
}

/* ---- gradients ---- */

static void grad_sum(tape *t, const node *n, mtf_tensor *const *dy)
{
    tape_give(t, n->in[0], dy[0]); /* the tape broadcasts */
}

/* The position of each element in the row-major order of the reduced dimensions: i32. */
static mtf_tensor *positions(mtf_graph *g, const mtf_shape *reduced)
{
    mtf_tensor *at = NULL;
    int64_t     stride = 1;
    for (int i = reduced->ndims - 1; i >= 0; i--) {
        mtf_tensor *one = mtf_scale(mtf_range(g, reduced->dims[i], MTF_I32), (double)stride);
        at = at ? mtf_add(one, at) : one;
        stride *= reduced->dims[i].size;
    }
    return at;
}

/* The lowest position that attains the extreme receives the whole gradient. */
static void grad_extreme(tape *t, const node *n, mtf_tensor *const *dy, const op *arg)
{
    mtf_tensor *x = n->in[0];
    mtf_shape   reduced = mtf_shape_minus(x->shape, n->out[0]->shape);
    if (reduced.ndims == 0) {
        tape_give(t, x, dy[0]);
        return;
    }
    if (!call_positions(n->op, n->graph, reduced_size(n))) return;
    attr attrs[] = {[REDUCE_OVER] = {.names = {0}}, [REDUCE_SHAPE] = {.shape = &n->out[0]->shape}};
    mtf_tensor *winner = node_unary(arg, x, attrs);
    mtf_tensor *none = mtf_constant(n->graph, 0, x->type, mtf_shape());
    tape_give(t, x, mtf_where(mtf_equal(positions(n->graph, &reduced), winner), dy[0], none));
}

static void grad_max(tape *t, const node *n, mtf_tensor *const *dy)
{
    grad_extreme(t, n, dy, &op_argmax_over);
}

static void grad_min(tape *t, const node *n, mtf_tensor *const *dy)
{
    grad_extreme(t, n, dy, &op_argmin_over);
}

/* The product over one dimension by halving: as many multiplications, but written in ops whose
 * gradients hold where factors are zero, too. */
static mtf_tensor *product_tree(mtf_tensor *x, const mtf_shape *kept)
{
    mtf_shape   reduced = mtf_shape_minus(x->shape, *kept);
    mtf_dim     dim = internal_dim(INTERNAL_FACTORS, shape_size(&reduced), kept);
    mtf_shape   flat = mtf_shape_plus(*kept, shape_of(1, &dim));
    mtf_tensor *p = mtf_reshape(mtf_transpose(x, mtf_shape_plus(*kept, reduced)), flat);
    for (int64_t n = dim.size; n > 1; n = (n + 1) / 2) {
        int64_t     half = n / 2;
        mtf_tensor *low = mtf_slice(p, dim.name, 0, half, 1);
        mtf_tensor *high = mtf_slice(p, dim.name, half, half, 1);
        mtf_tensor *both = mtf_multiply(low, high);
        mtf_tensor *odd = n % 2 ? mtf_slice(p, dim.name, n - 1, 1, 1) : NULL;
        p = odd ? mtf_concat(dim.name, 2, (mtf_tensor *[]){both, odd}) : both;
    }
    return mtf_reshape(p, *kept);
}

static void grad_prod(tape *t, const node *n, mtf_tensor *const *dy)
{
    mtf_tensor *x = n->in[0], *dx;
    /* A copy of x, so that differentiation stops there. */
    mtf_tensor *copy = mtf_depend(x, 0, NULL);
    mtf_tensor *y = product_tree(copy, &n->out[0]->shape);
    mtf_gradients(1, &y, 1, &copy, dy, &dx);
    tape_give(t, x, dx);
}

/* ---- sharding ---- */

static bool is_kept(const node *n, const char *dim)
{
    return shape_find(&n->out[0]->shape, dim) >= 0;
}

static dim_split split_sum(const node *n, const char *dim)
{
    return is_kept(n, dim) ? SPLIT_FREE : SPLIT_SUM;
}

static dim_split split_max(const node *n, const char *dim)
{
    return is_kept(n, dim) ? SPLIT_FREE : SPLIT_MAX;
}

static dim_split split_min(const node *n, const char *dim)
{
    return is_kept(n, dim) ? SPLIT_FREE : SPLIT_MIN;
}

/* An index over several reduced dimensions cannot be computed by parts of one. */
static dim_split split_arg(const node *n, const char *dim)
{
    if (is_kept(n, dim)) return SPLIT_FREE;
    return n->in[0]->shape.ndims - n->out[0]->shape.ndims == 1 ? SPLIT_OWN : SPLIT_WHOLE;
}

static dim_split split_kept(const node *n, const char *dim)
{
    return is_kept(n, dim) ? SPLIT_FREE : SPLIT_WHOLE;
}

/* ---- the ops ---- */

const op op_reduce_sum = {.name = "reduce_sum",
                          .says = "sum over dimensions",
                          .args = "x",
                          .attrs = reduce_attrs,
                          .infer = infer_number,
                          .grad = grad_sum,
                          .lower = lower_sum,
                          .split = split_sum,
                          .debt = debt_sum};
const op op_reduce_max = {.name = "reduce_max",
                          .says = "largest element; of equal ones the first receives the gradient",
                          .args = "x",
                          .attrs = reduce_attrs,
                          .infer = infer_number,
                          .grad = grad_max,
                          .lower = lower_max,
                          .split = split_max};
const op op_reduce_min = {.name = "reduce_min",
                          .says = "smallest element; of equal ones the first receives the gradient",
                          .args = "x",
                          .attrs = reduce_attrs,
                          .infer = infer_number,
                          .grad = grad_min,
                          .lower = lower_min,
                          .split = split_min};
const op op_reduce_prod = {.name = "reduce_prod",
                           .says = "product over dimensions",
                           .args = "x",
                           .attrs = reduce_attrs,
                           .infer = infer_number,
                           .grad = grad_prod,
                           .lower = lower_prod,
                           .split = split_kept};
const op op_reduce_all = {.name = "reduce_all",
                          .says = "true where all are",
                          .args = "x",
                          .attrs = reduce_attrs,
                          .infer = infer_bool,
                          .lower = lower_min,
                          .split = split_min};
const op op_reduce_any = {.name = "reduce_any",
                          .says = "true where at least one is",
                          .args = "x",
                          .attrs = reduce_attrs,
                          .infer = infer_bool,
                          .lower = lower_max,
                          .split = split_max};
const op op_argmax_over = {.name = "argmax_over",
                           .says =
                               "i32 position of the largest element in the row-major order of the "
                               "reduced dimensions; of equal ones the lowest",
                           .args = "x",
                           .attrs = reduce_attrs,
                           .flags = OP_ALIKE,
                           .infer = infer_index,
                           .lower = lower_argmax,
                           .split = split_arg};
const op op_argmin_over = {.name = "argmin_over",
                           .says =
                               "i32 position of the smallest element in the row-major order of the "
                               "reduced dimensions; of equal ones the lowest",
                           .args = "x",
                           .attrs = reduce_attrs,
                           .flags = OP_ALIKE,
                           .infer = infer_index,
                           .lower = lower_argmin,
                           .split = split_arg};
