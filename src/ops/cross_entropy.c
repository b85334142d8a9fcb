/* The cross entropy of a softmax.
 *
 * Along a cut vocabulary each processor works on its part of the logits; only one
 * number for each position is communicated per reduction: maximum, sums.
 */
#include "mtf_nn.h"
#include "ops/call.h"
#include "ops/catalogue.h"

mtf_tensor *mtf_softmax_cross_entropy_with_logits(mtf_tensor *logits, mtf_tensor *targets,
                                                  mtf_dim classes, double z_loss)
{
    if (!graph_of(logits) || !targets) return NULL;
    bool      numbers = targets->type == MTF_I32 || targets->type == MTF_I64;
    mtf_shape wanted = logits->shape;
    if (numbers) wanted = mtf_shape_minus(wanted, mtf_shape(classes));
    if (!call_targets(op_softmax_cross_entropy.name, logits, targets, wanted)) return NULL;
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

/* ---- for the text ---- */

static void expand(op_call *c)
{
    mtf_dim dim;
    if (call_attr_dim(c, 0, &dim))
        c->out[0] = mtf_softmax_cross_entropy_with_logits(c->in[0], c->in[1], dim, c->attrs[1].r);
}

const op op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .says = "-sum along dim of targets * log_softmax(logits), plus z_loss * "
            "reduce_logsumexp(logits)^2; targets are "
            "class numbers, or probabilities",
    .args = "logits, targets",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension of the classes"},
                                 {"z_loss", ATTR_REAL, "0",
                                  "factor of the squared logarithm of the sum"},
                                 {0}},
    .expand = expand};
