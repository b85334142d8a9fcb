/* Sublayers: what happens around a layer, by name. */
#include "model/transformer/sublayers.h"

#include <string.h>

#include "graph/node.h"

static mtf_norm_opts norm_opts(const stack_call *c)
{
    return (mtf_norm_opts){.epsilon = c->stack->opts.epsilon, .context = &c->context};
}

/* x / sqrt(mean of x^2 + epsilon), in f32, times a scale of its own: [d_model], or one number. */
static mtf_tensor *scaled(stack_call *c, mtf_tensor *x, const char *scope, mtf_shape shape)
{
    mtf_norm_opts o = norm_opts(c);
    o.no_scale = true;
    mtf_tensor *y = mtf_rms_norm(x, c->model->d_model, &o);
    mtf_scope_push(c->graph, scope);
    y = mtf_multiply(y, call_weight(c, "scale", mtf_shape_plus(c->model->ensemble, shape), "ones"));
    mtf_scope_pop(c->graph);
    return y;
}

static mtf_tensor *rms_norm(stack_call *c, mtf_tensor *x)
{
    return scaled(c, x, "rms_norm", mtf_shape(c->model->d_model));
}

static mtf_tensor *scale_norm(stack_call *c, mtf_tensor *x)
{
    return scaled(c, x, "scale_norm", mtf_shape());
}

static mtf_tensor *layer_norm(stack_call *c, mtf_tensor *x)
{
    mtf_norm_opts o = norm_opts(c);
    o.no_scale = o.no_bias = true;
    mtf_shape   shape = mtf_shape_plus(c->model->ensemble, mtf_shape(c->model->d_model));
    mtf_tensor *y = mtf_layer_norm(x, c->model->d_model, &o);
    mtf_scope_push(c->graph, "layer_norm");
    y = mtf_multiply(y, call_weight(c, "scale", shape, "ones"));
    y = mtf_add(y, call_weight(c, "bias", shape, "zeros"));
    mtf_scope_pop(c->graph);
    return y;
}

static mtf_tensor *dropout(stack_call *c, mtf_tensor *x)
{
    return call_dropout(c, x, c->stack->opts.dropout);
}

static mtf_tensor *rezero(stack_call *c, mtf_tensor *x)
{
    return mtf_multiply(x, call_weight(c, "rezero_scale", c->model->ensemble, "zeros"));
}

static mtf_tensor *mask_padding(stack_call *c, mtf_tensor *x)
{
    return call_mask_padding(c, x);
}

static mtf_tensor *clip_gradient(stack_call *c, mtf_tensor *x)
{
    return c->mode == CALL_TRAIN ? mtf_clip_activation_gradient(x, 1) : x;
}

static const sublayer all[] = {{"call_layer", NULL},
                               {"residual", NULL},
                               {"dropout", dropout},
                               {"rms_norm", rms_norm},
                               {"layer_norm", layer_norm},
                               {"scale_norm", scale_norm},
                               {"rezero", rezero},
                               {"mask_padding", mask_padding},
                               {"clip_activation_gradient", clip_gradient},
                               {0}};

const sublayer *sublayer_nth(int n)
{
    return all[n].name ? &all[n] : NULL;
}

const sublayer *sublayer_find(const char *name)
{
    for (int k = 0; all[k].name; k++)
        if (strcmp(all[k].name, name) == 0) return &all[k];
    return NULL;
}
