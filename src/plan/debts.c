/* Debts: combines small owed values along the same axes together.
 *
 * The latency of a collective does not depend on its size.  So when a small sum
 * is needed, the other small ones that are owed along the same axes are paid
 * with it, packed into one buffer; they become views of its result.  Sizes of
 * whole tensors decide what is small: every processor must decide the same.
 */
#include "plan/planner.h"

#include <assert.h>

enum { SMALL = 4096, MOST = 65536 }; /* elements of one value, of all together */

static int64_t whole_size(const mtf_tensor *x)
{
    return shape_size(&x->shape);
}

bool debts_is_small(const mtf_tensor *x)
{
    return whole_size(x) <= SMALL;
}

bool debts_note(emitter *e, const mtf_tensor *x)
{
    planner *p = e->planner;
    shard   *h = shard_of(e, x);
    if (!h->now.owed || h->wanted || p->depth || !debts_is_small(x)) return true;
    TRY(arena_push(p->survey.scratch, p->debtors, p->ndebtors, p->debtors_room));
    p->debtors[p->ndebtors++] = x;
    return true;
}

bool debts_put_off(emitter *e, const node *n)
{
    planner *p = e->planner;
    unsigned owed = 0, all = ~0u;
    bool     late = false;
    if (!e->layout || p->depth || n->nin < 2 || n->op->blocks || !n->op->debt) return false;
    if (n->op->flags & (OP_DIRECT | OP_EFFECT) || n->nout != 1 || shard_of(e, n->out[0])->wanted)
        return false;
    if (!debts_is_small(n->out[0])) return false;
    for (int i = 0; i < n->nin; i++) {
        const shard *h = shard_of(e, n->in[i]);
        if (n->op->debt(n, i) != DEBT_SUM || !debts_is_small(n->in[i])) return false;
        late = late || h->put_off;
        owed |= h->now.owed, all &= h->now.owed;
    }
    return late || owed != all;
}

/* Lists x first, then the waiting values that owe what x owes.  Removes them from the waiting list,
 * and all that owe nothing any more. */
static int collect(emitter *e, const mtf_tensor *x, shard *h, shard **together,
                   const mtf_tensor **whose)
{
    planner *p = e->planner;
    int      n = 0, kept = 0;
    int64_t  elements = whole_size(x);
    whose[n] = x;
    together[n++] = h;
    for (int i = 0; i < p->ndebtors; i++) {
        const mtf_tensor *y = p->debtors[i];
        shard            *other = shard_of(e, y);
        if (!other->now.owed || other->passed_on || other == h) continue;
        bool alike = other->now.owed == h->now.owed && other->now.owes == h->now.owes &&
                     other->now.type == h->now.type;
        if (!alike || elements + whole_size(y) > MOST) {
            p->debtors[kept++] = y;
            continue;
        }
        elements += whole_size(y);
        whose[n] = y;
        together[n++] = other;
    }
    p->ndebtors = kept;
    return n;
}

/* The slice of value number i in the packed buffer. */
static slice place_in_pack(const slice *pack, shard *const *together, int i)
{
    slice place = slice_dense(pack->buffer, pack->type, &together[i]->now.shape);
    place.offset = pack->offset;
    for (int k = 0; k < i; k++) place.offset += shape_size(&together[k]->now.shape);
    return place;
}

static bool pay_together(emitter *e, int n, shard *const *together, const mtf_tensor *const *whose)
{
    const mtf_tensor *payer = e->cause;
    mtf_shape         all = {.ndims = 1, .dims = {{"elements", 0}}};
    for (int i = 0; i < n; i++) assert(together[i]->now.owed == together[0]->now.owed);
    for (int i = 0; i < n; i++) all.dims[0].size += shape_size(&together[i]->now.shape);
    slice pack = emit_fresh(e, together[0]->now.type, &all);
    TRY(!slice_is_uniform(&pack));
    for (int i = 0; i < n; i++) {
        slice place = place_in_pack(&pack, together, i);
        e->cause = whose[i];
        TRY(emit_move(e, &together[i]->now, &place));
    }
    e->cause = payer;
    TRY(emit_all_reduce(e, together[0]->now.owes, together[0]->now.owed, &pack));
    for (int i = 0; i < n; i++) {
        slice *s = &together[i]->now, old = *s;
        *s = place_in_pack(&pack, together, i);
        e->cause = whose[i];
        TRY(shard_round(e, whose[i], together[i]));
        s->cut = old.cut;
        s->finer = old.finer;
    }
    e->cause = payer;
    return true;
}

bool debts_pay(emitter *e, const mtf_tensor *x, shard *h)
{
    planner *p = e->planner;
    /* An iteration may never run, or run again: values that wait outside of the loop are not paid
     * in it. */
    if (p->depth || e->nesting || p->ndebtors == 0 || !debts_is_small(x))
        return emit_all_reduce(e, h->now.owes, h->now.owed, &h->now);
    shard            **together = arena_array(p->survey.scratch, shard *, p->ndebtors + 1);
    const mtf_tensor **whose = arena_array(p->survey.scratch, const mtf_tensor *, p->ndebtors + 1);
    TRY(together && whose);
    int n = collect(e, x, h, together, whose);
    return n > 1 ? pay_together(e, n, together, whose)
                 : emit_all_reduce(e, h->now.owes, h->now.owed, &h->now);
}
