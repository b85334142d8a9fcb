/* Pays sums early where the device works on meanwhile.
 *
 * A sum is usually paid when its value is needed: the gradient of a weight when the optimizer reads
 * it, after all other gradients.  A device that runs collectives beside other work begins it at once
 * instead.  Sums that become smaller, or are added to others before they are needed, wait; so do small
 * ones, which are paid together.  All processors decide alike: by whole sizes and by what is owed.
 *
 * What goes on with such a sum and is only there to be stored, as an optimizer's update, is computed where it
 * is stored: sooner it would only wait for the sum.
 */
#include "plan/planner.h"

static bool is_wanted(const emitter *e)
{
    return e->layout && e->program->session->can.overlaps;
}

/* Is no sum in it, whatever is cut: is it made of variables, inputs and constants, element by element? */
static bool is_plain(const planner *p, const node *n)
{
    if (n->op->blocks) return false;
    for (int i = 0; i < n->nin; i++) {
        if (!p->plain[p->survey.same[n->in[i]->id]->id]) return false;
        for (int d = 0; d < n->in[i]->shape.ndims; d++)
            if (!n->op->split || n->op->split(n, n->in[i]->shape.dims[d].name) != SPLIT_FREE)
                return false;
    }
    return true;
}

/* Marks what n needs early: all, unless it only leads to variables, without products.  Its readers were seen before. */
static void note_early(planner *p, const node *n)
{
    bool effect = n->op->flags & OP_EFFECT && !(n->op->flags & OP_STORE);
    bool early = n->op->product || n->op->blocks || effect;
    for (int o = 0; o < n->nout; o++) early = early || p->early[n->out[o]->id];
    for (int i = 0; i < n->nin && early; i++) p->early[p->survey.same[n->in[i]->id]->id] = true;
}

bool early_begin(emitter *e)
{
    planner      *p = e->planner;
    const survey *s = &p->survey;
    const block  *root = &s->graph->root;
    if (!is_wanted(e)) return true;
    p->reader = arena_array(s->scratch, const node *, s->graph->ntensors + 1);
    p->plain = arena_array(s->scratch, bool, s->graph->ntensors + 1);
    p->early = arena_array(s->scratch, bool, s->graph->ntensors + 1);
    TRY(p->reader && p->plain && p->early);
    for (int k = 0; k < root->nnodes; k++) {
        const node *n = root->nodes[k];
        if (!s->live[n->id]) continue;
        for (int i = 0; i < n->nin; i++) p->reader[s->same[n->in[i]->id]->id] = n;
        for (int o = 0; o < n->nout; o++) p->plain[n->out[o]->id] = is_plain(p, n);
    }
    for (int k = root->nnodes - 1; k >= 0; k--)
        if (s->live[root->nodes[k]->id]) note_early(p, root->nodes[k]);
    return true;
}

bool early_put_off(emitter *e, const node *n)
{
    const planner *p = e->planner;
    bool           waits = false;
    if (!is_wanted(e) || p->depth || e->nesting || n->nout != 1 || n->op->product || n->op->blocks)
        return false;
    if (n->op->flags & (OP_DIRECT | OP_EFFECT) || p->early[n->out[0]->id]) return false;
    for (int i = 0; i < n->nin; i++) {
        const shard *h = shard_of(e, n->in[i]);
        waits = waits || h->put_off || h->under_way;
    }
    return waits;
}

/* Is nothing owed by an input of the reader of x, which may not have been lowered yet? */
static bool owes_nothing(emitter *e, const mtf_tensor *input, const mtf_tensor *x)
{
    const planner *p = e->planner;
    const shard   *h = shard_of(e, input);
    if (p->plain[p->survey.same[input->id]->id]) return true;
    return input->node->id < x->node->id && !h->put_off && !h->now.owed;
}

/* Would the only reader pass the sum on, so that less is left to pay? */
static bool gains_by_waiting(emitter *e, const node *n, const mtf_tensor *x)
{
    bool alone = true, passes = false;
    if (!n->op->debt || n->nout != 1 || n->op->flags & (OP_DIRECT | OP_EFFECT)) return n->op->debt;
    for (int i = 0; i < n->nin; i++) {
        debt rule = n->op->debt(n, i);
        bool is_x = shard_of(e, n->in[i]) == shard_of(e, x);
        if (is_x) passes = rule != DEBT_SETTLE;
        if (!is_x && rule != DEBT_SETTLE) alone = alone && owes_nothing(e, n->in[i], x);
    }
    return passes && (!alone || shard_most(e, n->out[0]) < shard_most(e, x));
}

bool early_pay(emitter *e, const mtf_tensor *x)
{
    planner *p = e->planner;
    shard   *h = shard_of(e, x);
    if (!is_wanted(e) || p->depth || e->nesting || !h->now.owed || debts_is_small(x)) return true;
    int readers = e->readers(e, x);
    if (readers == 1) {
        const node *n = p->reader[p->survey.same[x->id]->id];
        if (!n || gains_by_waiting(e, n, x)) return true;
    }
    const mtf_tensor *outer = e->cause;
    e->cause = x;
    TRY(readers == 0 || shard_pay(e, x, h, h->wanted));
    h->under_way = readers > 0;
    e->cause = outer;
    return true;
}
