/* Layers and sublayers from a configuration. */
#ifndef MODEL_CONFIG_LAYERS_H
#define MODEL_CONFIG_LAYERS_H

#include "model/config/configurable.h"
#include "model/config/known_model.h"
#include "model/config/layer_class.h"

/* The kind of stack that a layer belongs to. */
typedef enum stack_kind {
    STACK_CAUSAL,
    STACK_DECODER,
    STACK_BIDIRECTIONAL,
    STACK_ENCODER
} stack_kind;

/* One layer of make_layer_stack's list: a class, or [class, "name", {arguments}]. */
bool config_layer(mtf_config *c, const gin_value *item, const char *scope, stack_kind in,
                  mtf_transformer_layer *l);
/* The settings of LayerStack, or a class derived from it, in a scope: sublayers, dropout, epsilon,
 * recomputing. */
bool config_sublayers(mtf_config *c, const configurable *k, const char *scope, stack_args a,
                      mtf_stack_opts *o);
/* The settings of UTLayerStack. */
bool config_universal(mtf_config *c, const char *scope, mtf_stack_opts *o);

/* The settings of FunnelTransformerLayerStack; `submodules`: layers of a block. */
bool config_funnel(mtf_config *c, const char *scope, mtf_stack_opts *o, stack_kind in,
                   int submodules);

/* The activations of a layer: a name, or a list of them. */
enum { ACTIVATIONS = 3 };
bool config_activation(mtf_config *c, const char *layer, const gin_value *v,
                       const char *to[ACTIVATIONS + 1]);
/* What else has experts: values of parameters that it lacks, and its experts as options. */
experts_args config_experts_defaults(void);
bool         config_experts_opts(mtf_config *c, const configurable *k, const char *scope,
                                 const experts_args *a, mtf_moe_opts *o);

/* What attention layers have in common: options, kinds of relative positions, dimensions of heads. */
bool config_attention_opts(mtf_config *c, const configurable *k, const char *scope,
                           const attention_args *args, mtf_attention_layer *o);
bool config_relative(mtf_config *c, const configurable *k, const char *scope, const char *text,
                     mtf_relative *to);
bool config_heads(mtf_config *c, const gin_value *v, mtf_shape *dims);

/* Readers of the classes. */
layer_read config_transparent, config_bilinear, config_branched, config_synthesizer,
    config_parallel, config_product_key, config_dense_fixup, config_attention_fixup;
layer_read config_attention, config_experts_attention, config_talking_heads, config_feed_forward,
    config_experts, config_convolution, config_nothing, config_evolved, config_two_attentions;

#endif
