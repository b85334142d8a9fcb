/* Ranks: the processes that share a mesh.
 *
 * All make the same calls in the same order.  Whoever waits also listens: a
 * rank that fails tells all others why, and their waiting ends with that error
 * in their sessions.  A build without MPI has no ranks.
 */
#ifndef MACHINE_RANKS_H
#define MACHINE_RANKS_H

#include "base/session.h"

typedef struct ranks ranks;

/* Joins the others; `threads`: several threads of this process will communicate at once.  NULL
 * after an error. */
ranks *ranks_open(mtf_session *s, bool threads);
bool   ranks_over(void); /* were they left for good? */
int    ranks_number(const ranks *r);
int    ranks_count(const ranks *r);
int    ranks_cores(const ranks *r); /* what this process may use of its machine */

/* Has another rank failed?  Its reason is then in the session, unless this one has one already. */
bool ranks_alarmed(ranks *r);
bool ranks_foreign(const ranks *r); /* is the session's error another rank's? */
void ranks_tell(ranks *r); /* sends the session's error to all others */

/* Each of these is false after an error; `what` stands in the sentence where somebody is late. */
bool ranks_meet(ranks *r, const char *what);
bool ranks_gather(ranks *r, const char *what, const void *mine, void *all, int bytes);

/* A block of a row-major array; every dimension fits an int. */
typedef struct rank_block {
    int ndims;
    int whole[MTF_SHAPE_ROOM], begin[MTF_SHAPE_ROOM], size[MTF_SHAPE_ROOM];
    int bytes; /* of an element */
} rank_block;

/* Everybody's array gets the block from `owner`'s. */
bool ranks_spread(ranks *r, const char *what, int owner, const rank_block *b, void *array);

/* The last barrier, at which one rank is chosen to say the error where there is one: true here
 * where it is this one.  Then ranks_close, after it was said. */
bool ranks_part(ranks *r);
void ranks_close(ranks *r);

#endif
