/* Dead code: marks what fetches and effects need. */
#include <string.h>

#include "plan/passes.h"

typedef struct todo {
    node **nodes;
    int    count;
} todo;

static void want(survey *s, todo *t, mtf_tensor *x)
{
    s->readers[x->id]++;
    if (s->live[x->node->id]) return;
    s->live[x->node->id] = true;
    t->nodes[t->count++] = x->node;
}

static void want_effects(survey *s, todo *t, const block *b)
{
    for (int i = 0; i < b->nnodes; i++) {
        node *n = b->nodes[i];
        if (!(n->op->flags & OP_EFFECT) || s->live[n->id]) continue;
        s->live[n->id] = true;
        t->nodes[t->count++] = n;
    }
}

/* Does the block, or one inside it, print or store anything? */
static bool has_effects(const block *b)
{
    for (int i = 0; i < b->nnodes; i++) {
        node *n = b->nodes[i];
        if (n->op->flags & OP_EFFECT) return true;
        for (int k = 0; n->op->blocks && n->op->blocks[k]; k++)
            if (has_effects(n->blocks[k])) return true;
    }
    return false;
}

/* A custom gradient's backward block is not part of the program. */
static bool is_lowered(const node *owner, int k)
{
    return k == 0 || owner->blocks[k]->name[0] != 'b' || owner->blocks[k]->name[1] != 'a';
}

mtf_tensor *survey_choice(const node *n)
{
    if (n->nin < 3 || strcmp(n->op->name, "where") != 0) return NULL;
    if (strcmp(n->in[0]->node->op->name, "training") != 0) return NULL;
    mtf_tensor *x = n->in[graph_trains(n->graph) ? 1 : 2];
    return x->node->home == n->home && mtf_shape_equal(x->shape, n->out[0]->shape) ? x : NULL;
}

bool survey_live(survey *s, int nfetches, mtf_tensor *const *fetches)
{
    mtf_graph *g = s->graph;
    todo       t = {arena_array(s->scratch, node *, g->nnodes + 1), 0};
    s->live = arena_array(s->scratch, bool, g->nnodes + 1);
    s->readers = arena_array(s->scratch, int, g->ntensors + 1);
    TRY(t.nodes && s->live && s->readers);
    for (int i = 0; i < nfetches; i++) want(s, &t, fetches[i]);
    want_effects(s, &t, &g->root);
    for (int i = 0; i < g->root.nnodes; i++) { /* nodes whose blocks have effects */
        node *n = g->root.nodes[i];
        for (int k = 0; n->op->blocks && n->op->blocks[k] && !s->live[n->id]; k++)
            if (is_lowered(n, k) && has_effects(n->blocks[k])) {
                s->live[n->id] = true;
                t.nodes[t.count++] = n;
            }
    }
    while (t.count) {
        node       *n = t.nodes[--t.count];
        mtf_tensor *choice = survey_choice(n);
        if (choice) want(s, &t, choice);
        for (int i = 0; i < n->nin && !choice; i++) want(s, &t, n->in[i]);
        for (int k = 0; n->op->blocks && n->op->blocks[k]; k++) {
            if (!is_lowered(n, k)) continue;
            for (int r = 0; r < n->blocks[k]->nresults; r++) want(s, &t, n->blocks[k]->results[r]);
            want_effects(s, &t, n->blocks[k]);
        }
    }
    return true;
}
