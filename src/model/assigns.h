/* Whether a graph assigns variables when it runs. */
#ifndef MODEL_ASSIGNS_H
#define MODEL_ASSIGNS_H

#include <string.h>

#include "graph/node.h"

static inline bool graph_assigns(const mtf_graph *g)
{
    for (int i = 0; i < g->root.nnodes; i++)
        if (strncmp(g->root.nodes[i]->op->name, "assign", 6) == 0) return true;
    return false;
}

#endif
