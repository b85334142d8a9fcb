/* The mixture of experts as a layer of a stack. */
#include "base/numbers.h"
#include "graph/node.h"
#include "model/transformer/layer_kind.h"

/* In decoding nothing is padding: a prompt has none, and a single position no neighbours.  Where no segment
 * tells, padding are the zeros after all other tokens: some vocabularies have a token 0. */
mtf_tensor *experts_real(const stack_call *c)
{
    if (c->mode == CALL_DECODE || c->segment || !c->tokens)
        return c->mode == CALL_DECODE ? NULL : c->segment;
    mtf_tensor *token = mtf_not_equal(c->tokens, mtf_zeros_like(c->tokens));
    return mtf_cumsum(mtf_cast(token, MTF_I32), c->length, false, true);
}

static mtf_tensor *importance(mtf_tensor *real)
{
    return real ? mtf_weights_nonzero(real, MTF_F32) : NULL;
}

/* Where tokens are in their texts; NULL: as their indices say, where a layer around this one has changed the length. */
static mtf_tensor *positions_of(const stack_call *c, const mtf_tensor *x)
{
    if (!c->position || !x) return NULL;
    for (int k = 0; k < c->position->shape.ndims; k++) {
        mtf_dim d = c->position->shape.dims[k];
        if (mtf_shape_dim(x->shape, d.name).size != d.size) return NULL;
    }
    return c->position;
}

static mtf_tensor *experts_apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    mtf_moe_opts o = l->moe;
    char         init_in[KERNEL_INIT], init_out[KERNEL_INIT];
    o.name = "";
    o.importance = importance(experts_real(c));
    o.position = positions_of(c, x);
    o.context = &c->context;
    o.kernel_init = call_kernel_init(c, false, init_in);
    o.output_init = call_kernel_init(c, true, init_out);
    return mtf_moe(x, &o, &c->told);
}

mtf_tensor *experts_project(stack_call *c, const experts_projection *p, mtf_tensor *x)
{
    mtf_moe_opts o = *p->opts;
    mtf_moe_told told;
    char         init_in[KERNEL_INIT], init_out[48];
    o.name = p->name;
    o.output = p->output;
    o.importance = importance(p->real);
    o.position = positions_of(c, x);
    o.context = &c->context;
    o.kernel_init = call_kernel_init(c, false, init_in);
    o.output_init = init_out;
    if (o.kernel_init)
        number_format(init_out, sizeof init_out, "normal(0, %.17g)", p->deviation);
    else
        number_format(init_out, sizeof init_out, "variance_scaling(%.17g, fan_in, normal)",
                      p->scale);
    mtf_tensor *y = mtf_moe(x, &o, &told);
    if (told.loss && c->told.loss) told.loss = mtf_add(c->told.loss, told.loss);
    if (c->mode == CALL_TRAIN) c->told = told;
    return y;
}

/* In training: what the layer adds to the loss, and the next step's biases. */
void experts_settle(stack_call *c, const mtf_transformer_layer *l)
{
    mtf_moe_told told = c->told;
    c->told = (mtf_moe_told){0};
    if (c->mode != CALL_TRAIN) return;
    if (told.loss) c->loss = c->loss ? mtf_add(c->loss, told.loss) : told.loss;
    if (l->kind != MTF_MOE) return;
    mtf_moe_opts o = l->moe;
    o.name = l->name;
    if (!c->context.frozen) mtf_moe_balance(told.load, &o);
}

static const char *experts_name(const mtf_transformer_layer *l)
{
    return l->moe.outer ? "MoE2D" : "MoE1D";
}

/* mtf_moe checks its options. */
static bool experts_complete(mtf_session *s, mtf_transformer_layer *l)
{
    (void)s, (void)l;
    return true;
}

static bool always_has_experts(const mtf_transformer_layer *l)
{
    (void)l;
    return true;
}

const layer_kind kind_experts = {.name_by = experts_name,
                                 .complete = experts_complete,
                                 .apply = experts_apply,
                                 .has_experts = always_has_experts};
