/* What the ranks tell each other outside of steps. */
#ifndef RUN_SHARE_H
#define RUN_SHARE_H

#include "run/store.h"

/* Of the processors that have the same part one speaks for all: this is its number. */
int share_speaker(const store *s, int processor, const mtf_shape *shape, const placement *where);
/* The other ranks' parts of a tensor: `data` holds this rank's, and then the whole. */
bool share_parts(store *s, const char *name, mtf_dtype type, const mtf_shape *shape,
                 const placement *where, char *data);
/* Do all ranks meet for the same collectives in the same order?  `*peak` becomes that of all. */
bool share_schedule(store *s, const program *p, int64_t *peak);
/* Adds the other ranks' numbers to one's own, place by place. */
bool share_sums(store *s, int n, int64_t *numbers);

#endif
