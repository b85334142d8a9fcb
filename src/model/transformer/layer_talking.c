/* Talking heads: heads mixed before and after the softmax. */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "graph/node.h"
#include "model/transformer/attend.h"
#include "model/transformer/relative.h"

/* The dimensions of the three sets of heads. */
typedef struct talkers {
    mtf_dim key_heads, softmax_heads, value_heads, key, value;
} talkers;

static talkers talkers_of(const mtf_talking_heads_layer *o)
{
    talkers t = {{"heads", o->key_heads},
                 {"heads", o->softmax_heads},
                 {"heads", o->value_heads},
                 {"d_k", o->key_size},
                 {"d_v", o->value_size}};
    /* The sets have different names; layouts cut "heads", those of the softmax. */
    t.key_heads.name = "key_heads";
    t.value_heads.name = "value_heads";
    return t;
}

static mtf_tensor *dense(const stack_call *c, mtf_tensor *x, const char *name, mtf_shape reduced,
                         mtf_shape made, double variance)
{
    char init[64];
    number_format(init, sizeof init, "normal(0, %.17g)", sqrt(variance));
    return mtf_dense(x, made,
                     &(mtf_dense_opts){.name = name,
                                       .reduced = reduced,
                                       .experts = c->model->ensemble,
                                       .no_bias = true,
                                       .kernel_init = init,
                                       .context = &c->context});
}

mtf_tensor *talking_heads_layer(stack_call *c, const mtf_talking_heads_layer *o, bool to_encoder,
                                mtf_tensor *x)
{
    talkers     t = talkers_of(o);
    mtf_dim     memory = to_encoder ? c->memory : (mtf_dim){"memory_length", c->length.size};
    mtf_shape   model = mtf_shape(c->model->d_model);
    mtf_tensor *from = to_encoder ? c->encoded
                       : x        ? mtf_rename_dimension(x, c->length.name, memory.name)
                                  : NULL;
    double      in = 1 / (double)c->model->d_model.size;
    visibility  sees = {0};
    if (!graph_of(x) || !from) return NULL;
    mtf_tensor *q = dense(c, x, "q", model, mtf_shape(t.key_heads, t.key), in / (double)t.key.size);
    mtf_tensor *k = dense(c, from, "k", model, mtf_shape(t.key_heads, t.key), in);
    mtf_tensor *v = dense(c, from, "v", model, mtf_shape(t.value_heads, t.value), in);
    mtf_shape   pairs = mtf_shape_plus(call_shape(c, mtf_shape()), mtf_shape(memory));
    mtf_tensor *p = mtf_us_einsum(&c->context, mtf_shape_plus(pairs, mtf_shape(t.key_heads)), 2,
                                  (mtf_tensor *[]){q, k});
    mtf_tensor *logits = dense(c, p, "talking_heads_logits", mtf_shape(t.key_heads),
                               mtf_shape(t.softmax_heads), 1 / (double)t.key_heads.size);
    logits = mtf_cast(logits, MTF_F32);
    if (to_encoder) {
        if (c->segment)
            sees = (visibility){.query_segment = c->segment, .memory_segment = c->encoded_segment};
    } else {
        sees.causal = c->stack->causal;
        if (c->priority)
            sees.read = c->priority,
            sees.write = mtf_rename_dimension(c->priority, c->length.name, memory.name);
        if (c->segment)
            sees.query_segment = c->segment,
            sees.memory_segment = mtf_rename_dimension(c->segment, c->length.name, memory.name);
    }
    mtf_tensor *mask = attend_mask(c, &sees, memory);
    if (mask) logits = mtf_add(logits, mask);
    relative_opts relative = {o->relative, o->buckets, o->max_distance, mtf_shape(t.softmax_heads)};
    mtf_tensor   *bias = to_encoder ? NULL : relative_bias(c, &relative, q, memory);
    bias = relative_spread(c, bias, memory);
    if (bias) logits = mtf_add(logits, bias);
    mtf_tensor *weights = mtf_cast(mtf_softmax(logits, memory, NULL), c->type);
    weights = dense(c, weights, "talking_heads_weights", mtf_shape(t.softmax_heads),
                    mtf_shape(t.value_heads), 1 / (double)t.softmax_heads.size);
    if (o->dropout > 0 && !c->context.inference && weights)
        weights =
            mtf_dropout(weights, o->dropout, mtf_shape_minus(weights->shape, mtf_shape(c->length)));
    mtf_tensor *u = mtf_einsum(call_shape(c, mtf_shape(t.value_heads, t.value)), weights, v);
    return dense(c, u, "o", mtf_shape(t.value_heads, t.value), model,
                 1 / ((double)t.value_heads.size * (double)t.value.size));
}
