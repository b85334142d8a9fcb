/* Losses, written only in operations.
 *
 * Along a cut vocabulary each processor works on its part of the logits; only one
 * number for each position is communicated per reduction: maximum, sums.
 */
#include "nn/layer.h"

static bool same_shape(const mtf_tensor *logits, const mtf_tensor *targets, const char *loss,
                       mtf_shape wanted)
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (wanted.ndims == targets->shape.ndims &&
        mtf_shape_minus(wanted, targets->shape).ndims == 0 &&
        shape_within(&targets->shape, &wanted))
        return true;
    return fail(&logits->node->graph->session->fault, ERR_SHAPE,
                "%s: the targets \"%s\" are %s; with the logits \"%s\" they must be %s", loss,
                tensor_name(targets), shape_text(&targets->shape, a), tensor_name(logits),
                shape_text(&wanted, b));
}

mtf_tensor *mtf_softmax_cross_entropy_with_logits(mtf_tensor *logits, mtf_tensor *targets,
                                                  mtf_dim classes, double z_loss)
{
    if (!graph_of(logits) || !targets) return NULL;
    bool      numbers = targets->type == MTF_I32 || targets->type == MTF_I64;
    mtf_shape wanted = logits->shape;
    if (numbers) wanted = mtf_shape_minus(wanted, mtf_shape(classes));
    if (!same_shape(logits, targets, "softmax_cross_entropy", wanted)) return NULL;
    if (numbers) targets = mtf_one_hot_as(targets, classes, 1, 0, logits->type);
    mtf_tensor *log_p = mtf_log_softmax(logits, classes, NULL);
    mtf_tensor *loss =
        mtf_negative(mtf_reduce_sum(mtf_multiply(targets, log_p), mtf_shape(classes)));
    if (z_loss == 0) return loss;
    mtf_tensor *log_z = mtf_reduce_logsumexp(logits, classes, NULL);
    return mtf_add(loss, mtf_scale(mtf_square(log_z), z_loss));
}

mtf_tensor *mtf_softmax_cross_entropy(mtf_tensor *logits, mtf_tensor *targets, mtf_dim classes)
{
    return mtf_softmax_cross_entropy_with_logits(logits, targets, classes, 0);
}

/* log(1 + e^x) - x z, which is exact for large x of either sign and smooth at 0. */
mtf_tensor *mtf_sigmoid_cross_entropy_with_logits(mtf_tensor *logits, mtf_tensor *targets)
{
    if (!graph_of(logits) || !targets) return NULL;
    if (!same_shape(logits, targets, "sigmoid_cross_entropy", logits->shape)) return NULL;
    return mtf_sub(mtf_softplus(logits), mtf_multiply(logits, targets));
}

mtf_tensor *mtf_weights_nonzero(mtf_tensor *targets, mtf_dtype type)
{
    mtf_graph *g = graph_of(targets);
    if (!g) return NULL;
    return mtf_cast(mtf_not_equal(targets, mtf_constant(g, 0, targets->type, mtf_shape())), type);
}
