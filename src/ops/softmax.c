/* Softmax and its relatives.
 *
 * The relatives are composed of other operations.  Softmax is a primitive: it
 * takes one exponential where a composition would take two, and its gradient needs
 * nothing but its result.
 */
#include "base/dtype.h"
#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/reach.h"
#include "ops/splits.h"
#include "ops/tape.h"

/* The maximum is clipped to this magnitude, since inf - inf would be NaN. */
static double most_of(mtf_dtype type)
{
    return type == MTF_F16 ? 6e4 : 1e38;
}

/* The maximum only keeps exp in range, so no gradient flows through it. */
static mtf_tensor *stable_maximum(const op *o, mtf_tensor *x, mtf_dim dim, mtf_tensor *extra)
{
    mtf_dim mine;
    if (!call_dim(o, x, dim.name, &mine)) return NULL; /* names the op that the user called */
    if (extra && shape_find(&extra->shape, mine.name) >= 0) {
        fail(&graph_of(x)->session->fault, ERR_SHAPE,
             "%s: the extra logit \"%s\" has the dimension \"%s\", which is summed", o->name,
             tensor_name(extra), mine.name);
        return NULL;
    }
    mtf_tensor *m = mtf_reduce_max(mtf_stop_gradient(x), mtf_shape(dim));
    if (extra) m = mtf_maximum(m, mtf_stop_gradient(extra));
    double most = most_of(mtf_dtype_of_tensor(x));
    return mtf_clip(m, -most, most);
}

/* log of the sum of e^(x - m), e^(extra - m) included; *below is x - m. */
static mtf_tensor *log_of_sum(mtf_tensor *x, mtf_dim dim, mtf_tensor *extra, mtf_tensor *m,
                              mtf_tensor **below)
{
    *below = mtf_sub(x, m);
    mtf_tensor *sum = mtf_reduce_sum(mtf_exp(*below), mtf_shape(dim));
    if (extra) sum = mtf_add(sum, mtf_exp(mtf_sub(extra, m)));
    return mtf_log(sum);
}

mtf_tensor *mtf_reduce_logsumexp(mtf_tensor *x, mtf_dim dim, mtf_tensor *extra)
{
    mtf_tensor *m = stable_maximum(&op_reduce_logsumexp, x, dim, extra), *below;
    return mtf_add(log_of_sum(x, dim, extra, m, &below), m);
}

/* Subtracts m before the logarithm, not after adding it: nothing cancels for large x. */
mtf_tensor *mtf_log_softmax(mtf_tensor *x, mtf_dim dim, mtf_tensor *extra)
{
    mtf_tensor *m = stable_maximum(&op_log_softmax, x, dim, extra), *below;
    mtf_tensor *log_sum = log_of_sum(x, dim, extra, m, &below);
    return mtf_sub(below, log_sum);
}

/* ---- softmax ---- */

static bool infer_softmax(node *n)
{
    mtf_dim dim;
    char    a[SHAPE_TEXT], b[SHAPE_TEXT];
    TRY(node_needs_float(n) && node_needs_same_type(n));
    TRY(call_dim(n->op, n->in[0], n->attrs[0].text, &dim));
    mtf_shape kept = mtf_shape_minus(n->in[0]->shape, mtf_shape(dim));
    if (n->nin > 1 && mtf_shape_minus(n->in[1]->shape, kept).ndims > 0)
        return node_fail(n, ERR_SHAPE, "the extra logit \"%s\" %s has dimensions beyond %s",
                         tensor_name(n->in[1]), shape_text(&n->in[1]->shape, a),
                         shape_text(&kept, b));
    TRY(node_sizes_agree(n));
    return node_output(n, n->in[0]->type, &n->in[0]->shape);
}

/* y (dy - sum of dy y); the extra logit has its share of the sum. */
static void grad_softmax(tape *t, const node *n, mtf_tensor *const *dy)
{
    mtf_tensor *y = n->out[0], *x = n->in[0];
    mtf_dim     dim = mtf_shape_dim(x->shape, n->attrs[0].text);
    mtf_tensor *mean = mtf_reduce_sum(mtf_multiply(dy[0], y), mtf_shape(dim));
    tape_give(t, x, mtf_multiply(y, mtf_sub(dy[0], mean)));
    if (n->nin < 2 || !tape_wants(t, n->in[1])) return;
    mtf_tensor *rest = mtf_exp(mtf_sub(n->in[1], mtf_reduce_logsumexp(x, dim, n->in[1])));
    tape_give(t, n->in[1], mtf_negative(mtf_multiply(rest, mean)));
}

/* out = fn of one or two, in the compute type; out is made here. */
static bool apply(emitter *e, scalar_fn fn, const slice *x, const slice *y, const mtf_shape *shape,
                  slice *out)
{
    slice in[2] = {*x, y ? *y : *x};
    *out = emit_fresh(e, dtype_compute(x->type), shape);
    return !slice_is_uniform(out) && emit_scalar(e, fn, y ? 2 : 1, in, out);
}

/* Folds x along the dimension that `kept` lacks, over all its parts. */
static bool fold_along(emitter *e, fold_kind kind, const slice *x, const char *dim, unsigned axes,
                       slice *out)
{
    mtf_shape folded = {.ndims = 1, .dims = {{dim, 1}}}, kept = mtf_shape_minus(x->shape, folded);
    *out = emit_fresh(e, dtype_compute(x->type), &kept);
    TRY(!slice_is_uniform(out) && emit_fold(e, kind, x, out));
    return !axes || emit_all_reduce(e, kind, axes, out);
}

static bool lower_softmax(emitter *e, const node *n, const slice *in, slice *out)
{
    const char *dim = n->attrs[0].text;
    mtf_shape   shape = out[0].shape;
    slice       x = in[0], m, below, power, sum, extra = n->nin > 1 ? in[1] : in[0];
    unsigned    axes = 0;
    TRY(emit_real(e, &x));
    if (reach_is_cut(&in[0], dim)) axes = cut_axes(&layout_find(e->layout, dim)->cut);
    double most = most_of(x.type);
    TRY(fold_along(e, FOLD_MAX, &x, dim, axes, &m));
    mtf_shape kept = m.shape;
    slice least = slice_uniform(-most, m.type, &kept), largest = slice_uniform(most, m.type, &kept);
    if (n->nin > 1) TRY(apply(e, FN_maximum, &m, &extra, &kept, &m));
    TRY(apply(e, FN_maximum, &m, &least, &kept, &m) &&
        apply(e, FN_minimum, &m, &largest, &kept, &m));
    TRY(apply(e, FN_sub, &x, &m, &shape, &below) && apply(e, FN_exp, &below, NULL, &shape, &power));
    TRY(fold_along(e, FOLD_SUM, &power, dim, axes, &sum));
    if (n->nin > 1) {
        slice more;
        TRY(apply(e, FN_sub, &extra, &m, &kept, &more) &&
            apply(e, FN_exp, &more, NULL, &kept, &more));
        TRY(apply(e, FN_add, &sum, &more, &kept, &sum));
    }
    TRY(apply(e, FN_reciprocal, &sum, NULL, &kept, &sum));
    out[0] = emit_fresh(e, x.type, &shape);
    return !slice_is_uniform(&out[0]) &&
           emit_scalar(e, FN_multiply, 2, (slice[]){power, sum}, &out[0]);
}

mtf_tensor *mtf_softmax(mtf_tensor *x, mtf_dim dim, mtf_tensor *extra)
{
    attr name = {.text = dim.name};
    return extra ? node_binary(&op_softmax, x, extra, &name) : node_unary(&op_softmax, x, &name);
}

/* ---- the first ---- */

mtf_tensor *mtf_reduce_first(mtf_tensor *x, mtf_dim dim)
{
    mtf_tensor *first = mtf_slice(x, dim.name, 0, 1, 1);
    return mtf_reshape(first, mtf_shape_minus(mtf_shape_of_tensor(first), mtf_shape(dim)));
}

/* ---- for the text ---- */

static void expand_logsumexp(op_call *c)
{
    mtf_dim dim;
    if (call_attr_dim(c, 0, &dim)) c->out[0] = mtf_reduce_logsumexp(c->in[0], dim, c->in[1]);
}

static void expand_log_softmax(op_call *c)
{
    mtf_dim dim;
    if (call_attr_dim(c, 0, &dim)) c->out[0] = mtf_log_softmax(c->in[0], dim, c->in[1]);
}

static void expand_first(op_call *c)
{
    mtf_dim dim;
    if (call_attr_dim(c, 0, &dim)) c->out[0] = mtf_reduce_first(c->in[0], dim);
}

static const attr_spec along[] = {{"dim", ATTR_WORD, NULL, "the dimension"}, {0}};

const op op_reduce_logsumexp = {
    .name = "reduce_logsumexp",
    .says = "log of the sum of e^x along dim, with e^extra added to the sum",
    .args = "x, [extra_logit]",
    .attrs = along,
    .expand = expand_logsumexp};
const op op_log_softmax = {.name = "log_softmax",
                           .says = "x - reduce_logsumexp(x)",
                           .args = "x, [extra_logit]",
                           .attrs = along,
                           .expand = expand_log_softmax};
const op op_softmax = {.name = "softmax",
                       .says = "e^x divided by its sum along dim (and e^extra)",
                       .args = "x, [extra_logit]",
                       .attrs = along,
                       .infer = infer_softmax,
                       .grad = grad_softmax,
                       .lower = lower_softmax,
                       .split = split_own_first};
const op op_reduce_first = {.name = "reduce_first",
                            .says = "the first element along dim",
                            .args = "x",
                            .attrs = along,
                            .expand = expand_first};
