/* Softmax and its relatives, written in other operations. */
#include "ops/call.h"
#include "ops/catalogue.h"

/* The maximum only keeps exp in range, so no gradient flows through it; cut to finite numbers,
 * it leaves infinities what they are. */
static mtf_tensor *stable_maximum(const op *o, mtf_tensor *x, mtf_dim dim, mtf_tensor *extra)
{
    mtf_dim mine;
    if (!call_dim(o, x, dim.name, &mine)) return NULL; /* in words of what the user called */
    mtf_tensor *m = mtf_reduce_max(mtf_stop_gradient(x), mtf_shape(dim));
    if (extra) m = mtf_maximum(m, mtf_stop_gradient(extra));
    double most = mtf_dtype_of_tensor(x) == MTF_F16 ? 6e4 : 1e38;
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

mtf_tensor *mtf_softmax(mtf_tensor *x, mtf_dim dim, mtf_tensor *extra)
{
    mtf_dim mine;
    return call_dim(&op_softmax, x, dim.name, &mine) ? mtf_exp(mtf_log_softmax(x, mine, extra))
                                                     : NULL;
}

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

static void expand_softmax(op_call *c)
{
    mtf_dim dim;
    if (call_attr_dim(c, 0, &dim)) c->out[0] = mtf_softmax(c->in[0], dim, c->in[1]);
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
                       .expand = expand_softmax};
const op op_reduce_first = {.name = "reduce_first",
                            .says = "the first element along dim",
                            .args = "x",
                            .attrs = along,
                            .expand = expand_first};
