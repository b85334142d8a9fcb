/* Shards: what a processor has of each tensor.
 *
 * A shard has the layout's placement of the tensor, or a finer one: a sum of which only a part
 * was kept, a variable whose stored state is cut further.  It is gathered when the first use
 * needs more, once for all later uses; the finer shard remains available to uses that need no
 * more.
 */
#ifndef PLAN_SHARD_H
#define PLAN_SHARD_H

#include "graph/node.h"
#include "plan/passes.h"
#include "program/emit.h"

typedef struct shard {
    slice             now;
    const slice      *before;      /* the finer part from which `now` was gathered; NULL: none */
    const placement  *wanted;      /* the finer placement that readers prefer; NULL: none */
    bool              passed_on;   /* what is owed was passed on to the only reader */
    bool              put_off;     /* it is computed when it is needed, not in order */
    bool              needed;      /* it was deferred, and is needed now */
    bool              under_way;   /* its sum was begun as soon as it could be */
    bool              wide;        /* short floats in the type of their sum: see shard_round */
    bool              goes_on;     /* a loop's sum with which that of another loop begins, */
    const mtf_tensor *begins_with; /* which is this, for that one; */
    const mtf_tensor *chained;     /* for their sum: the last of them, whose value it is */
} shard;

/* The placement of x in its current slice. */
placement shard_where(const emitter *e, const mtf_tensor *x, const slice *s);
/* Elements of the smallest or the largest part that any processor has under `where`. */
int64_t shard_extent(const emitter *e, const mtf_tensor *x, const placement *where, bool largest);
int64_t shard_most(const emitter *e, const mtf_tensor *x); /* the largest, by the layout */
/* Pays what is owed.  If `goal` cuts a dimension further along axes that are owed, only the part is
 * kept; NULL: nothing is cut further. */
bool shard_pay(emitter *e, const mtf_tensor *x, shard *h, const placement *goal);
/* Rounds a value that is no longer owed to x's type, if x is a short float that was kept in the
 * type of its sum. */
bool shard_round(emitter *e, const mtf_tensor *x, shard *h);
/* Adds a new value that may be paid with others later; pays what is owed, with the values that
 * wait. */
bool debts_note(emitter *e, const mtf_tensor *x);
bool debts_is_small(const mtf_tensor *x); /* small enough to be paid later */
/* Is n a small sum of values that are owed along different axes?  It is better deferred: then more
 * small debts are paid together. */
bool debts_put_off(emitter *e, const node *n);
bool debts_pay(emitter *e, const mtf_tensor *x, shard *h);
/* Pays what x, which was just computed, owes, where the device works on meanwhile. */
bool early_begin(emitter *e);
bool early_pay(emitter *e, const mtf_tensor *x);
/* Would n wait for such a sum, though it is only needed where variables are stored? */
bool early_put_off(emitter *e, const node *n);
/* Finds sums of loops that are only added to one another (plan/chained_sums.c): the later loop adds to the
 * sum of the earlier one. */
void chains_find(emitter *e);
bool chains_has(emitter *e, const mtf_tensor *x); /* is x one of them, and not the result? */
/* The emitter's begins_with and goes_on. */
const mtf_tensor *chains_begin(emitter *e, const mtf_tensor *y);
bool              chains_go_on(emitter *e, const mtf_tensor *y);

/* The emitter's keep_wide. */
bool wide_keep(emitter *e, const mtf_tensor *x);
/* The type in which to compute x: its own, or the one of its sum. */
mtf_dtype wide_type(const mtf_tensor *x, bool wide);
/* Gathers parts that are finer than the layout's. */
bool shard_gather(emitter *e, const mtf_tensor *x, shard *h);
/* This processor's part under `goal`, which is the layout's placement or finer. */
bool shard_part(emitter *e, const mtf_tensor *x, shard *h, const placement *goal, slice *part);

/* Gathered variables: computes what rules for state save, records a new copy, frees old copies that
 * do not fit beside what n gathers. */
void copies_begin(emitter *e);
bool copies_note(emitter *e, const mtf_tensor *x);
void copies_make_room(emitter *e, const node *n);

/* Finds values for which finer parts suffice: those that pointwise operations turn into variables
 * whose stored state is finer. */
bool shard_find_wanted(const emitter *e, const survey *s, shard *all);

#endif
