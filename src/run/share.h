/* Data that ranks exchange outside of steps. */
#ifndef RUN_SHARE_H
#define RUN_SHARE_H

#include "run/store.h"

/* The number of the processor that provides the part that `processor` has: one of all with the same
 * part. */
int share_speaker(const store *s, int processor, const mtf_shape *shape, const placement *where);
/* Collects the other ranks' parts of a tensor: `data` holds this rank's parts, and afterwards the
 * whole. */
bool share_parts(store *s, const char *name, mtf_dtype type, const mtf_shape *shape,
                 const placement *where, char *data);
/* Do all ranks give the same answer?  `what` names the option in the error message. */
bool share_agrees(mtf_session *s, ranks *r, const char *what, bool answer);
/* Copies n bytes from the first rank to all others. */
bool share_bytes(ranks *r, const char *what, int n, void *bytes);
/* Replaces the text by the first rank's; it lives in the session. */
bool share_text(mtf_session *s, ranks *r, const char *what, const char **text);
/* Do all ranks run the same collectives in the same order?  `*peak` becomes the maximum over all
 * ranks. */
bool share_schedule(store *s, const program *p, int64_t *peak);
/* Adds the other ranks' numbers, element by element. */
bool share_sums(store *s, int n, int64_t *numbers);

#endif
