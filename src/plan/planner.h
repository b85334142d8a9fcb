/* The planner's state during lowering: an emitter's `planner`. */
#ifndef PLAN_PLANNER_H
#define PLAN_PLANNER_H

#include "plan/shard.h"

typedef struct planner {
    survey             survey;
    shard             *shards; /* by tensor id */
    unsigned          *cut;   /* by tensor id: dimensions that the layout cuts; set for live ones */
    int                depth; /* number of blocks around the current node; 0: outside all */
    const mtf_tensor **debtors; /* outside all blocks: small tensors with an owed sum */
    int                ndebtors, debtors_room;
    const node       **put_off; /* in order; computed when they are needed */
    int                nput_off, put_off_room;
    const mtf_tensor **copies; /* gathered variables, the oldest first */
    int                ncopies, copies_room;
    int64_t            copied, saved; /* bytes of these copies; bytes that state rules save */
    /* plan/pay_early.c, by tensor id: a reader outside of blocks, the only one if there is one; whether
     * it never owes a sum; whether more than what is stored in variables needs it. */
    const node   **reader;
    bool          *plain, *early;
    struct traced *trace; /* by tensor id; NULL: not needed */
} planner;

static inline shard *shard_of(emitter *e, const mtf_tensor *x)
{
    planner *p = e->planner;
    return &p->shards[p->survey.same[x->id]->id];
}

#endif
