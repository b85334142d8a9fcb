/* Classes of layers: a row for each that a list of layers may name. */
#ifndef MODEL_CONFIG_LAYER_CLASS_H
#define MODEL_CONFIG_LAYER_CLASS_H

#include "model/config/known.h"
#include "mtf_config.h"

/* Reads the arguments of a class into a layer of its kind. */
typedef bool layer_read(mtf_config *c, const configurable *k, const char *scope,
                        const gin_value *given, mtf_transformer_layer *l);
typedef struct layer_class {
    const configurable *as;
    mtf_layer_kind      kind;
    layer_read         *read;
} layer_class;
extern const layer_class layer_classes[]; /* in config_layers.c; the last has no `as` */

/* Classes of config_convolution.c. */
extern const configurable known_convolution, known_separable_convolution,
    known_normalised_convolution, known_lightweight_convolution, known_dynamic_convolution,
    known_local_conv_block, known_gated_linear_unit, known_evolved_encoder, known_evolved_decoder,
    known_two_attentions;

#endif
