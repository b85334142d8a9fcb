/* Noise in training: annealed dropout, jitter. */
#include "nn/layer.h"

/* 1 - rate * (1 - the fraction of the steps from start to end that is done), f32 */
static mtf_tensor *kept_at(mtf_tensor *step, const mtf_annealed_dropout_opts *o)
{
    mtf_tensor *gone = mtf_add_scalar(mtf_cast(step, MTF_F32), -o->start);
    gone = mtf_clip(mtf_scale(gone, 1 / (o->end - o->start)), 0, 1);
    return mtf_add_scalar(mtf_scale(gone, o->rate), 1 - o->rate);
}

mtf_tensor *mtf_annealed_dropout(mtf_tensor *x, mtf_tensor *step,
                                 const mtf_annealed_dropout_opts *opts)
{
    mtf_annealed_dropout_opts o = opts ? *opts : (mtf_annealed_dropout_opts){0};
    mtf_graph                *g = graph_of(x);
    if (!g || !step) return NULL;
    if (o.rate == 0 || (o.context && o.context->inference)) return x;
    if (!(o.rate > 0 && o.rate < 1) || !(o.end > o.start)) {
        fail(&g->session->fault, ERR_VALUE,
             "annealed_dropout: a rate of %g from step %g to %g; it must be from 0 to below 1, and "
             "the end after the start",
             o.rate, o.start, o.end);
        return NULL;
    }
    return layer_drop(x, kept_at(step, &o), o.noise.ndims ? o.noise : x->shape);
}

mtf_tensor *mtf_multiplicative_jitter(mtf_tensor *x, double epsilon)
{
    mtf_graph *g = graph_of(x);
    if (!g || epsilon == 0) return g ? x : NULL;
    return mtf_multiply(x, mtf_random_uniform(g, x->type, x->shape, 1 - epsilon, 1 + epsilon));
}
