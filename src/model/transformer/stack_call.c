/* What the layers of a stack share: weights, padding, dropout. */
#include "model/transformer/stack_call.h"

#include "nn/layer.h"

mtf_tensor *call_weight(const stack_call *c, const char *name, mtf_shape shape, const char *init)
{
    return layer_weight(c->graph, &c->context, name, c->type, shape, init);
}

mtf_shape call_shape(const stack_call *c, mtf_shape rest)
{
    mtf_shape shape = c->batch;
    if (c->length.name) shape = mtf_shape_plus(shape, mtf_shape(c->length));
    return mtf_shape_plus(shape, rest);
}

mtf_tensor *call_mask_padding(const stack_call *c, mtf_tensor *x)
{
    if (!c->segment || c->mode == CALL_STEP) return x;
    return mtf_multiply(x, mtf_weights_nonzero(c->segment, c->type));
}

mtf_tensor *call_dropout(const stack_call *c, mtf_tensor *x, double rate)
{
    if (rate == 0 || c->context.inference || !x) return x;
    mtf_shape noise = x->shape;
    if (c->length.name) noise = mtf_shape_minus(noise, mtf_shape(c->length));
    return mtf_dropout(x, rate, noise);
}
