/* Clipping: limits the common norm of all gradients. */
#include "base/dtype.h"
#include "mtf_nn.h"
#include "nn/optimizer.h"

mtf_tensor *mtf_global_norm(int n, mtf_tensor *const *xs)
{
    mtf_tensor *sum = NULL;
    for (int i = 0; i < n; i++) {
        if (!xs[i]) continue;
        mtf_tensor *wide = mtf_cast(xs[i], dtype_compute(mtf_dtype_of_tensor(xs[i])));
        mtf_tensor *one = mtf_cast(mtf_reduce_sum(mtf_square(wide), MTF_ALL), MTF_F64);
        sum = sum ? mtf_add(sum, one) : one;
    }
    return mtf_sqrt(sum);
}

void mtf_clip_by_global_norm(int n, mtf_tensor *const *xs, double most, mtf_tensor **out)
{
    mtf_tensor *norm = mtf_global_norm(n, xs), *limit = NULL;
    if (norm) limit = optimizer_constant(norm->node->graph, most);
    mtf_tensor *factor = mtf_divide(limit, mtf_maximum(norm, limit));
    for (int i = 0; i < n; i++) {
        mtf_dtype type = mtf_dtype_of_tensor(xs[i]);
        mtf_dtype wide = dtype_compute(type);
        out[i] = xs[i] ? mtf_multiply(mtf_cast(xs[i], wide), mtf_cast(factor, wide)) : NULL;
        out[i] = mtf_cast(out[i], type);
    }
}
