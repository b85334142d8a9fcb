/* A plan by layers, equal ones together. */
#ifndef CLI_PLAN_LAYERS_H
#define CLI_PLAN_LAYERS_H

#include "price/estimate.h"

/* A table of layers, by the scopes of their tensors, and an empty line; nothing where all tensors are in
 * one.  False: no memory. */
bool plan_write_layers(mtf_graph *g, estimate *e, textbuf *t);

#endif
