/* Losses, written only in operations. */
#include "mtf_nn.h"

mtf_tensor *mtf_softmax_cross_entropy(mtf_tensor *logits, mtf_tensor *targets, mtf_dim classes)
{
    mtf_dtype type = mtf_dtype_of_tensor(targets);
    if (type == MTF_I32 || type == MTF_I64) /* class numbers */
        targets = mtf_one_hot_as(targets, classes, 1, 0, mtf_dtype_of_tensor(logits));
    mtf_tensor *log_p = mtf_log_softmax(logits, classes, NULL);
    return mtf_negative(mtf_reduce_sum(mtf_multiply(targets, log_p), mtf_shape(classes)));
}
