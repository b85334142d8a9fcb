/* Loss scaling: keeps small gradients in the range of f16.
 *
 * The loss is multiplied by a scale, the gradients are divided by it.  Where
 * one of them is not finite the step changes nothing but the scale, which is
 * halved; after enough good steps in a row it is doubled.
 */
#include "nn/loss_scale.h"

#include <stdio.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "nn/optimizer.h"

static const double LEAST = 1, MOST = 16777216; /* 2^24 */

mtf_tensor *mtf_loss_scale(mtf_graph *g, const mtf_minimize_opts *opts)
{
    if (!g || !opts || !mtf_ok(g->session)) return NULL;
    if (opts->dynamic_loss_scale) {
        char first[40];
        number_format(first, sizeof first, "constant(%.17g)",
                      opts->loss_scale != 0 ? opts->loss_scale : 32768);
        return optimizer_slot(g, "loss_scale", "", MTF_F32, mtf_shape(), first);
    }
    return opts->loss_scale != 0 ? mtf_constant(g, opts->loss_scale, MTF_F32, mtf_shape()) : NULL;
}

mtf_tensor *loss_scale_remove(mtf_tensor *gradient, mtf_tensor *scale)
{
    mtf_dtype type = dtype_compute(mtf_dtype_of_tensor(gradient));
    return mtf_multiply(mtf_cast(gradient, type), mtf_cast(mtf_reciprocal(scale), type));
}

static mtf_tensor *counter(mtf_graph *g, const char *name)
{
    return optimizer_slot(g, name, "", MTF_I64, mtf_shape(), "zeros");
}

void loss_scale_adapt(mtf_graph *g, mtf_tensor *sound, const mtf_minimize_opts *opts)
{
    mtf_tensor *skipped = counter(g, "skipped_steps");
    mtf_assign(skipped, mtf_where(sound, skipped, mtf_add_scalar(skipped, 1)));
    if (!opts->dynamic_loss_scale) return;
    int64_t     enough = opts->loss_scale_steps ? opts->loss_scale_steps : 2000;
    mtf_tensor *scale = mtf_loss_scale(g, opts), *good = counter(g, "good_steps");
    if (!scale || !good) return;
    mtf_tensor *none = mtf_zeros_like(good);
    mtf_tensor *row = mtf_where(sound, mtf_add_scalar(good, 1), none);
    mtf_tensor *full =
        mtf_greater_equal(row, mtf_constant(g, (double)enough, MTF_I64, mtf_shape()));
    mtf_tensor *half =
        mtf_maximum(mtf_scale(scale, 0.5), mtf_constant(g, LEAST, MTF_F32, mtf_shape()));
    mtf_tensor *twice =
        mtf_minimum(mtf_scale(scale, 2), mtf_constant(g, MOST, MTF_F32, mtf_shape()));
    mtf_assign(scale, mtf_where(sound, mtf_where(full, twice, scale), half));
    mtf_assign(good, mtf_where(full, none, row));
}
