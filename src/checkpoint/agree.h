/* Agreeing: an error on one rank is an error on all. */
#ifndef CHECKPOINT_AGREE_H
#define CHECKPOINT_AGREE_H

#include "run/store.h"

/* Waits for all ranks.  Where any has an error in its `f`, the first one's is in the session of
 * each afterwards, and all return false.  `what` stands in the sentence where somebody is late. */
bool agree(store *s, const char *what, const fault *f);
/* The same, but the error is put into `all`, which is empty before; the session gets one only where
 * the ranks cannot meet. */
bool agree_on(store *s, const char *what, const fault *f, fault *all);
/* The sums over all ranks, modulo 2^64, place by place. */
bool agree_sums(store *s, const char *what, int n, uint64_t *sums);
/* Is `flag` true on all? */
bool agree_all(store *s, const char *what, bool flag);

#endif
