/* One row for each layer: how a graph of it is built. */
#ifndef LAYER_ROWS_H
#define LAYER_ROWS_H

#include "mtf.h"

typedef struct layer_row {
    const char *name;
    void (*build)(mtf_graph *g, mtf_dtype type); /* names its results: y, ... */
    const char *lines; /* directives of layers that draw: "?" for each; NULL: stored values */
} layer_row;

extern const layer_row layer_rows[]; /* the last has no name */

#endif
