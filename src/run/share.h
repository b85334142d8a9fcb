/* What the ranks tell each other outside of steps. */
#ifndef RUN_SHARE_H
#define RUN_SHARE_H

#include "run/store.h"

/* Of the processors that have the same part one speaks for all: this is its number. */
int share_speaker(const store *s, int processor, const mtf_shape *shape, const placement *where);
/* The other ranks' parts of a tensor: `data` holds this rank's, and then the whole. */
bool share_parts(store *s, const char *name, mtf_dtype type, const mtf_shape *shape,
                 const placement *where, char *data);
/* Do all ranks give the same answer?  `what` is what they were started with. */
bool share_agrees(mtf_session *s, ranks *r, const char *what, bool answer);
/* So many bytes of all ranks become the first one's. */
bool share_bytes(ranks *r, const char *what, int n, void *bytes);
/* The text of all ranks becomes the first one's; it lives in the session. */
bool share_text(mtf_session *s, ranks *r, const char *what, const char **text);
/* Do all ranks meet for the same collectives in the same order?  `*peak` becomes that of all. */
bool share_schedule(store *s, const program *p, int64_t *peak);
/* Adds the other ranks' numbers to one's own, place by place. */
bool share_sums(store *s, int n, int64_t *numbers);

#endif
