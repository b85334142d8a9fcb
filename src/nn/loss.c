/* Losses that are not operations of the language, written in operations. */
#include "nn/layer.h"
#include "ops/call.h"

/* log(1 + e^x) - x z, which is exact for large x of either sign and smooth at 0. */
mtf_tensor *mtf_sigmoid_cross_entropy_with_logits(mtf_tensor *logits, mtf_tensor *targets)
{
    if (!graph_of(logits) || !targets) return NULL;
    if (!call_targets("sigmoid_cross_entropy", logits, targets, logits->shape)) return NULL;
    return mtf_sub(mtf_softplus(logits), mtf_multiply(logits, targets));
}

mtf_tensor *mtf_weights_nonzero(mtf_tensor *targets, mtf_dtype type)
{
    mtf_graph *g = graph_of(targets);
    if (!g) return NULL;
    return mtf_cast(mtf_not_equal(targets, mtf_constant(g, 0, targets->type, mtf_shape())), type);
}

mtf_tensor *mtf_dice(mtf_tensor *x, mtf_tensor *y, mtf_shape over, double above, double below)
{
    if (!graph_of(x) || !y || !call_targets("dice", x, y, x->shape)) return NULL;
    mtf_tensor *both = mtf_reduce_sum(mtf_multiply(x, y), over);
    mtf_tensor *each = mtf_add(mtf_reduce_sum(x, over), mtf_reduce_sum(y, over));
    return mtf_divide(mtf_add_scalar(mtf_scale(both, 2), above), mtf_add_scalar(each, below));
}
