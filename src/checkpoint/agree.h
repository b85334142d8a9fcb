/* An error on one rank becomes an error on all. */
#ifndef CHECKPOINT_AGREE_H
#define CHECKPOINT_AGREE_H

#include "run/store.h"

/* Waits for all ranks.  Where any has an error in its `f`, the sessions of all receive the error of the
 * first such rank, and all return false.  `what` names the activity in messages about late ranks. */
bool agree(store *s, const char *what, const fault *f);
/* The same, but `all`, which must be empty, receives the error; the session gets one only where the
 * ranks cannot communicate. */
bool agree_on(store *s, const char *what, const fault *f, fault *all);
/* Replaces each of the n sums by its sum over all ranks, modulo 2^64. */
bool agree_sums(store *s, const char *what, int n, uint64_t *sums);
/* Is `flag` true on all? */
bool agree_all(store *s, const char *what, bool flag);

#endif
