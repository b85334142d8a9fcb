/* The feed-forward layer: two projections around an activation. */
#include "graph/node.h"
#include "model/transformer/fixup.h"
#include "model/transformer/layer_kind.h"
#include "model/transformer/layer_parts.h"

/* Fixup's weights, in place of the usual ones. */
static void fixup_kernels(const stack_call *c, const mtf_feed_forward_layer *o, mtf_dense_opts *in,
                          mtf_dense_opts *out, char init[FIXUP_INIT])
{
    if (c->context.unit_scaling)
        fail(&c->model->session->fault, ERR_VALUE,
             "fixup gives weights their deviations, and so does unit scaling; leave one out");
    fixup_init(&o->fixup, 1 / (double)o->fixup.layers, c->model->d_model.size, o->hidden, init);
    in->kernel_init = init;
    out->kernel_init = "zeros";
}

/* One number that is added to all hidden units. */
static mtf_tensor *shifted(const stack_call *c, mtf_tensor *x)
{
    mtf_shape   one = mtf_shape((mtf_dim){"single_bias", 1});
    mtf_tensor *shift = call_weight(c, "shift", mtf_shape_plus(c->model->ensemble, one), "zeros");
    return mtf_add(x, mtf_reduce_sum(shift, one));
}

mtf_tensor *feed_forward(stack_call *c, const mtf_feed_forward_layer *o, const char *name,
                         mtf_tensor *x)
{
    mtf_dim        hidden = {name, o->hidden};
    char           init_in[KERNEL_INIT], init_out[KERNEL_INIT], init_fixup[FIXUP_INIT];
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
    if (o->fixup.layers > 0) fixup_kernels(c, o, &in, &out, init_fixup);
    mtf_tensor *h = mtf_dense_product(x, mtf_shape(hidden), o->activation, &in);
    h = call_dropout(c, h, o->dropout);
    if (o->fixup.layers > 0) h = shifted(c, h);
    return mtf_dense(h, mtf_shape(c->model->d_model), &out);
}

static mtf_tensor *feed_forward_apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    return feed_forward(c, &l->feed_forward, "d_ff", x);
}

bool feed_forward_layer_check(mtf_session *s, const char *layer, mtf_feed_forward_layer *o)
{
    set_default(&o->hidden, 4096);
    if (!o->activation[0]) o->activation[0] = "relu";
    if (o->hidden < 1)
        return fail(&s->fault, ERR_VALUE, "%s: %lld hidden units; there must be 1 or more", layer,
                    (long long)o->hidden);
    return check_share(&s->fault, "the dropout of the feed-forward layer", o->dropout) &&
           fixup_complete(&s->fault, layer, "he", &o->fixup);
}

static bool feed_forward_complete(mtf_session *s, mtf_transformer_layer *l)
{
    return feed_forward_layer_check(s, l->name, &l->feed_forward);
}

static const char *feed_forward_name(const mtf_transformer_layer *l)
{
    return l->feed_forward.fixup.layers ? "DenseReluDenseFixup" : "DenseReluDense";
}

const layer_kind kind_feed_forward = {
    .name_by = feed_forward_name, .complete = feed_forward_complete, .apply = feed_forward_apply};
