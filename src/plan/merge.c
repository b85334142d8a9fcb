/* Common subexpressions: equal nodes of a block become one.
 *
 * A choice by `training` is replaced by the branch that it selects.
 */
#include <string.h>

#include "plan/passes.h"

static bool may_merge(const node *n)
{
    return !(n->op->flags & (OP_EFFECT | OP_UNIQUE)) && !n->op->blocks;
}

static uint64_t node_hash(const survey *s, const node *n)
{
    const void *who[] = {n->op, n->home};
    uint64_t    h = hash_bytes(0, who, sizeof who);
    for (int i = 0; i < n->nin; i++) {
        int id = s->same[n->in[i]->id]->id;
        h = hash_bytes(h, &id, sizeof id);
    }
    for (int a = 0; n->op->attrs && n->op->attrs[a].name; a++)
        h = attr_hash(n->op->attrs[a].kind, &n->attrs[a], h);
    return h;
}

static bool node_equal(const survey *s, const node *a, const node *b)
{
    if (a->op != b->op || a->home != b->home || a->nin != b->nin || a->nout != b->nout)
        return false;
    for (int i = 0; i < a->nin; i++)
        if (s->same[a->in[i]->id] != s->same[b->in[i]->id]) return false;
    for (int k = 0; a->op->attrs && a->op->attrs[k].name; k++)
        if (!attr_equal(a->op->attrs[k].kind, &a->attrs[k], &b->attrs[k])) return false;
    for (int o = 0; o < a->nout; o++)
        if (a->out[o]->type != b->out[o]->type ||
            !mtf_shape_equal(a->out[o]->shape, b->out[o]->shape))
            return false;
    return true;
}

/* Replaces n's output by another tensor. */
static void replace(survey *s, const node *n, int o, mtf_tensor *by)
{
    s->same[n->out[o]->id] = by;
    s->readers[by->id] += s->readers[n->out[o]->id];
}

static void merge_block(survey *s, node **table, uint64_t mask, const block *b)
{
    for (int i = 0; i < b->nnodes; i++) {
        node *n = b->nodes[i];
        if (!s->live[n->id]) continue;
        for (int k = 0; n->op->blocks && n->op->blocks[k]; k++)
            merge_block(s, table, mask, n->blocks[k]);
        mtf_tensor *choice = survey_choice(n);
        if (choice) {
            replace(s, n, 0, s->same[choice->id]);
            s->readers[s->same[choice->id]->id]--; /* n itself no longer reads it */
            s->live[n->id] = false;
            continue;
        }
        if (!may_merge(n)) continue;
        uint64_t at = node_hash(s, n) & mask;
        while (table[at] && !node_equal(s, table[at], n)) at = (at + 1) & mask;
        if (!table[at]) {
            table[at] = n;
            continue;
        }
        for (int o = 0; o < n->nout; o++) replace(s, n, o, table[at]->out[o]);
        s->live[n->id] = false;
    }
}

/* Finds live nodes with the same operation and inputs. */
static bool survey_merge(survey *s)
{
    mtf_graph *g = s->graph;
    uint64_t   room = 16;
    while (room < 2 * (uint64_t)g->nnodes) room *= 2;
    node **table = arena_array(s->scratch, node *, room);
    s->same = arena_array(s->scratch, mtf_tensor *, g->ntensors + 1);
    TRY(table && s->same);
    for (int i = 0; i < g->ntensors; i++) s->same[i] = g->all[i];
    merge_block(s, table, room - 1, &g->root);
    return true;
}

bool survey_make(survey *s, int nfetches, mtf_tensor *const *fetches)
{
    return survey_live(s, nfetches, fetches) && survey_merge(s);
}
