/* First values of variables. */
#ifndef RUN_INITIAL_H
#define RUN_INITIAL_H

#include "graph/node.h"
#include "machine/device.h"
#include "space/layout.h"

/* The processor whose part of a variable is filled. */
typedef struct initial_place {
    device_context *context;
    const layout   *layout;
    mesh_point      here;
} initial_place;

/* Fills the parts of n variables at memory[0], memory[1], ..., as their initialisers say. */
bool initial_fill(const initial_place *at, int n, const mtf_tensor *const *w, void *const *memory);

#endif
