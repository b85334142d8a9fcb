/* First values of variables. */
#ifndef RUN_INITIAL_H
#define RUN_INITIAL_H

#include "graph/node.h"
#include "machine/device.h"
#include "space/layout.h"

/* The processor whose part of a variable is filled. */
typedef struct initial_place {
    device_context *context;
    const layout *layout;
    mesh_point    here;
} initial_place;

/* Fills the parts of n variables, each at its `memory`, as their initialisers say.  All are one program,
 * because a device may compile each. */
bool initial_fill(const initial_place *at, int n, const mtf_tensor *const *ws, void *const *memory);

#endif
