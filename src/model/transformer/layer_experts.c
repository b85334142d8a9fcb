/* The mixture of experts as a layer of a stack. */
#include "graph/node.h"
#include "model/transformer/stack_call.h"

/* 1 for real tokens.  In decoding all are: a prompt has no padding, and a single position no neighbours. */
static mtf_tensor *importance(const stack_call *c)
{
    mtf_tensor *real = c->segment ? c->segment : c->tokens;
    return c->mode == CALL_DECODE || !real ? NULL : mtf_weights_nonzero(real, MTF_F32);
}

mtf_tensor *experts_layer(stack_call *c, const mtf_moe_opts *opts, mtf_tensor *x)
{
    mtf_moe_opts o = *opts;
    char         init_in[KERNEL_INIT], init_out[KERNEL_INIT];
    o.name = "";
    o.importance = importance(c);
    o.context = &c->context;
    o.kernel_init = call_kernel_init(c, false, init_in);
    o.output_init = call_kernel_init(c, true, init_out);
    return mtf_moe(x, &o, &c->told);
}

/* In training: what the layer adds to the loss, and the next step's biases. */
void experts_settle(stack_call *c, const mtf_transformer_layer *l)
{
    mtf_moe_told told = c->told;
    c->told = (mtf_moe_told){0};
    if (c->mode != CALL_TRAIN || l->kind != MTF_MOE) return;
    if (told.loss) c->loss = c->loss ? mtf_add(c->loss, told.loss) : told.loss;
    mtf_moe_opts o = l->moe;
    o.name = l->name;
    if (!c->context.frozen) mtf_moe_balance(told.load, &o);
}
