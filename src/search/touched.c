/* Which nodes rules for state may affect.
 *
 * A node works on finer parts where its result is on its way into a variable, or where it reads
 * something that may be finer and is no smaller than the result (plan/spread.c).
 */
#include "search/touched.h"

#include "ops/state.h"

/* Goes backwards from stored values through all that they are computed from pointwise. */
static void mark_wanted(const survey *s, bool *wanted)
{
    const block *root = &s->graph->root;
    for (int k = root->nnodes - 1; k >= 0; k--) {
        const node *n = root->nodes[k];
        bool        here = (n->op->flags & OP_STORE) != 0;
        if (!s->live[n->id]) continue;
        for (int o = 0; o < n->nout; o++) here |= wanted[s->same[n->out[o]->id]->id];
        for (int o = 0; o < n->nout && here; o++) wanted[s->same[n->out[o]->id]->id] = true;
        for (int i = 0; i < n->nin && here && n->op->split; i++) {
            bool pointwise = true;
            for (int d = 0; d < n->in[i]->shape.ndims; d++)
                pointwise &= n->op->split(n, n->in[i]->shape.dims[d].name) == SPLIT_FREE;
            if (pointwise) wanted[s->same[n->in[i]->id]->id] = true;
        }
    }
}

static bool reads_finer(const survey *s, const node *n, const bool *finer)
{
    int64_t results = 0;
    for (int o = 0; o < n->nout; o++) results += shape_size(&n->out[o]->shape);
    for (int i = 0; i < n->nin; i++)
        if (finer[s->same[n->in[i]->id]->id] && shape_size(&n->in[i]->shape) >= results)
            return true;
    return false;
}

bool *touched_by_state(const survey *s, arena *a)
{
    const mtf_graph *g = s->graph;
    bool            *touched = arena_array(a, bool, g->nnodes + 1);
    bool            *finer = arena_array(a, bool, g->ntensors + 1);
    if (!touched || !finer) return NULL;
    mark_wanted(s, finer);
    for (int k = 0; k < g->root.nnodes; k++) {
        const node *n = g->root.nodes[k];
        bool        here = variable_is(n) || reads_finer(s, n, finer);
        for (int o = 0; o < n->nout; o++) here |= finer[s->same[n->out[o]->id]->id];
        for (int o = 0; o < n->nout && here; o++) finer[s->same[n->out[o]->id]->id] = true;
        touched[n->id] = here;
    }
    return touched;
}
