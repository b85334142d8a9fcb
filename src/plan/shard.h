/* Shards: what a processor has of each tensor, and what others need of it.
 *
 * A shard is as the layout cuts the tensor, or finer: a sum of which only a part was kept, a
 * variable whose stored state is cut further.  It is gathered when the first use needs more, once
 * for all later uses; the finer shard stays known to those that need no more.
 */
#ifndef PLAN_SHARD_H
#define PLAN_SHARD_H

#include "graph/node.h"
#include "plan/passes.h"
#include "program/emit.h"

typedef struct shard {
    slice            now;
    const slice     *before;    /* the finer part that `now` was gathered from; NULL: none */
    const placement *wanted;    /* what readers would rather have, finer than the layout; or NULL */
    bool             passed_on; /* what is owed went over to the only reader */
    bool             put_off;   /* it is computed when somebody needs it, not in its turn */
    bool             needed;    /* it was put off, and now somebody does */
    bool             wide;      /* short floats that stay as they were summed: see shard_round */
} shard;

/* How x is cut as it is now. */
placement shard_where(const emitter *e, const mtf_tensor *x, const slice *s);
/* Elements of the smallest or the largest part that any processor has under `where`. */
int64_t shard_extent(const emitter *e, const mtf_tensor *x, const placement *where, bool largest);
int64_t shard_most(const emitter *e, const mtf_tensor *x); /* the largest, as the layout cuts */
/* Pays what is owed.  Where `goal` cuts a dimension further along axes that are owed, only the part
 * is kept; NULL: nothing is cut further. */
bool shard_pay(emitter *e, const mtf_tensor *x, shard *h, const placement *goal);
/* Rounds what is no longer owed to x's type, where it is a short float that was held in the type that
 * it is summed in. */
bool shard_round(emitter *e, const mtf_tensor *x, shard *h);
/* A new value that may wait to be paid with others; pays what is owed, with those who wait. */
bool debts_note(emitter *e, const mtf_tensor *x);
bool debts_is_small(const mtf_tensor *x); /* small enough to wait */
/* Is n a small sum of what is owed along different axes?  It is better computed late: by then more
 * small debts wait to be paid together. */
bool debts_put_off(emitter *e, const node *n);
bool debts_pay(emitter *e, const mtf_tensor *x, shard *h);
/* The emitter's keep_wide. */
bool wide_keep(emitter *e, const mtf_tensor *x);
/* The type to compute x in: its own, or the one that it is summed in. */
mtf_dtype wide_type(const mtf_tensor *x, bool wide);
/* Gathers what is finer than the layout. */
bool shard_gather(emitter *e, const mtf_tensor *x, shard *h);
/* This processor's part under `goal`, which is the layout's placement or finer. */
bool shard_part(emitter *e, const mtf_tensor *x, shard *h, const placement *goal, slice *part);

/* Gathered variables: counts what rules for state save, notes a new copy, gives old copies up that
 * there is no room for beside what n gathers. */
void copies_begin(emitter *e);
bool copies_note(emitter *e, const mtf_tensor *x);
void copies_make_room(emitter *e, const node *n);

/* Finds what is wanted finer: values on their way into variables whose stored state is, through
 * what works on each part by itself. */
bool shard_find_wanted(const emitter *e, const survey *s, shard *all);

#endif
