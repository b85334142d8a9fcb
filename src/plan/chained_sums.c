/* Sums of loops that go on in another loop.
 *
 * Where two loops sum parts of the same whole, as over parts of a batch of unequal sizes, and the sums are only
 * added to each other, they are one sum: the second loop begins with what the first one leaves.  It is
 * rounded once, paid once, and takes the memory of one.  That depends on the graph alone.
 */
#include <string.h>

#include "plan/planner.h"

/* Is x a sum over the iterations of a loop outside of all blocks, with one reader? */
static bool is_passing_sum(emitter *e, const mtf_tensor *x)
{
    const planner *p = e->planner;
    const node    *n = x->node;
    int            sums = n->op->blocks ? op_attr_find(n->op, "sums") : -1;
    return sums >= 0 && n->home == &p->survey.graph->root && x->index >= n->nargs &&
           x->index < n->nargs + n->attrs[sums].i && e->readers(e, x) == 1;
}

static void try_addition(emitter *e, const node *n)
{
    const planner    *p = e->planner;
    const mtf_tensor *a = p->survey.same[n->in[0]->id], *b = p->survey.same[n->in[1]->id];
    const mtf_tensor *first = a->node->id < b->node->id ? a : b, *second = first == a ? b : a;
    if (a->node == b->node || a->type != b->type || !mtf_shape_equal(a->shape, b->shape)) return;
    if (!mtf_shape_equal(a->shape, n->out[0]->shape)) return;
    if (!is_passing_sum(e, a) || !is_passing_sum(e, b)) return;
    shard_of(e, first)->goes_on = true;
    shard_of(e, second)->begins_with = first;
    shard_of(e, n->out[0])->chained = second;
}

void chains_find(emitter *e)
{
    const planner *p = e->planner;
    const block   *root = &p->survey.graph->root;
    for (int k = 0; k < root->nnodes; k++) {
        const node *n = root->nodes[k];
        bool live = p->survey.live[n->id] && n->nout && p->survey.same[n->out[0]->id] == n->out[0];
        if (live && strcmp(n->op->name, "add") == 0) try_addition(e, n);
    }
}

bool chains_has(emitter *e, const mtf_tensor *x)
{
    return shard_of(e, x)->goes_on || shard_of(e, x)->begins_with;
}

const mtf_tensor *chains_begin(emitter *e, const mtf_tensor *y)
{
    return shard_of(e, y)->begins_with;
}

bool chains_go_on(emitter *e, const mtf_tensor *y)
{
    return shard_of(e, y)->goes_on;
}
