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

/* Fills the part of variable w at `memory`, as its initialiser says. */
bool initial_fill(const initial_place *at, const mtf_tensor *w, void *memory);

#endif
