/* Sublayers: what happens around a layer, by name. */
#ifndef MODEL_SUBLAYERS_H
#define MODEL_SUBLAYERS_H

#include "model/transformer/stack_call.h"

typedef struct sublayer {
    const char *name;
    mtf_tensor *(*apply)(stack_call *c, mtf_tensor *x); /* NULL: the stack itself does it */
} sublayer;

const sublayer *sublayer_find(const char *name); /* NULL: there is none */
const sublayer *sublayer_nth(int n);             /* NULL after the last */

/* The sublayers of a list, one after the other. */
mtf_tensor *sublayers_apply(stack_call *c, mtf_sublayers list, const mtf_transformer_layer *layer,
                            mtf_tensor *x);

#endif
