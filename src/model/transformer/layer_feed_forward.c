/* The feed-forward layer: two projections around an activation. */
#include "graph/node.h"
#include "model/transformer/stack_call.h"

mtf_tensor *feed_forward_layer(stack_call *c, const mtf_feed_forward_layer *o, mtf_tensor *x)
{
    mtf_dim        hidden = {"d_ff", o->hidden};
    char           init_in[KERNEL_INIT], init_out[KERNEL_INIT];
    mtf_dense_opts in = {.name = "wi",
                         .reduced = mtf_shape(c->model->d_model),
                         .experts = c->model->ensemble,
                         .no_bias = !o->bias,
                         .f8 = o->f8,
                         .kernel_init = call_kernel_init(c, false, init_in),
                         .context = &c->context};
    mtf_dense_opts out = in;
    out.name = "wo";
    out.reduced = mtf_shape(hidden);
    out.kernel_init = call_kernel_init(c, true, init_out);
    mtf_tensor *h = mtf_dense_product(x, mtf_shape(hidden), o->activation, &in);
    h = call_dropout(c, h, o->dropout);
    return mtf_dense(h, mtf_shape(c->model->d_model), &out);
}
