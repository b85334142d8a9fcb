/* The feed-forward layer: two projections around an activation. */
#include "graph/node.h"
#include "model/transformer/layer_kind.h"

static mtf_tensor *feed_forward_apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    const mtf_feed_forward_layer *o = &l->feed_forward;
    mtf_dim                       hidden = {"d_ff", o->hidden};
    char                          init_in[KERNEL_INIT], init_out[KERNEL_INIT];
    mtf_dense_opts                in = {.name = "wi",
                                        .reduced = mtf_shape(c->model->d_model),
                                        .experts = c->model->ensemble,
                                        .no_bias = !o->bias,
                                        .f8 = o->f8,
                                        .kernel_init = call_kernel_init(c, false, init_in),
                                        .context = &c->context};
    mtf_dense_opts                out = in;
    out.name = "wo";
    out.reduced = mtf_shape(hidden);
    out.kernel_init = call_kernel_init(c, true, init_out);
    mtf_tensor *h = mtf_dense_product(x, mtf_shape(hidden), o->activation, &in);
    h = call_dropout(c, h, o->dropout);
    return mtf_dense(h, mtf_shape(c->model->d_model), &out);
}

static bool feed_forward_complete(mtf_session *s, mtf_transformer_layer *l)
{
    mtf_feed_forward_layer *o = &l->feed_forward;
    set_default(&o->hidden, 4096);
    if (!o->activation[0]) o->activation[0] = "relu";
    if (o->hidden < 1)
        return fail(&s->fault, ERR_VALUE, "%s: %lld hidden units; there must be 1 or more", l->name,
                    (long long)o->hidden);
    return check_share(&s->fault, "the dropout of the feed-forward layer", o->dropout);
}

const layer_kind kind_feed_forward = {
    .name = "DenseReluDense", .complete = feed_forward_complete, .apply = feed_forward_apply};
