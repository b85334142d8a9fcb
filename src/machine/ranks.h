/* Ranks: the processes that share a mesh.
 *
 * All ranks make the same calls in the same order.  A rank that waits also
 * checks for errors: a rank that fails sends its error to all others, which
 * then stop waiting and have that error in their sessions.  A build without MPI
 * has no ranks.
 */
#ifndef MACHINE_RANKS_H
#define MACHINE_RANKS_H

#include "base/session.h"
#include "space/mesh.h"

typedef struct ranks ranks;

/* Connects to the other ranks; `threads`: several threads of this process will communicate at once.
 * NULL after an error. */
ranks *ranks_open(mtf_session *s, bool threads);
bool   ranks_over(void); /* has MPI been finalised? */
int    ranks_number(const ranks *r);
int    ranks_count(const ranks *r);
int    ranks_cores(const ranks *r); /* cores of the machine that this process may use */
int    ranks_place(const ranks *r); /* number of this rank among those of its machine */
/* From now on messages name the processors of ranks. */
void ranks_know_mesh(ranks *r, const mesh *m);

/* Has another rank failed?  Its error is then in the session, unless the session had one
 * already. */
bool ranks_alarmed(ranks *r);
bool ranks_foreign(const ranks *r); /* did the session's error come from another rank? */
void ranks_tell(ranks *r);          /* sends the session's error to all other ranks */
/* For a rank that waits for its device: false, with an error, if another rank has failed or was lost
 * during `what`. */
bool ranks_look(ranks *r, const char *what);
/* The first other rank that neither waits nor answers; -1: all do.  Takes a second for each. */
int ranks_silent(ranks *r);

/* These return false after an error; `what` names the operation in the message about a late
 * rank. */
bool ranks_meet(ranks *r, const char *what);
bool ranks_gather(ranks *r, const char *what, const void *mine, void *all, int bytes);

/* A block of a row-major array; every dimension fits an int. */
typedef struct rank_block {
    int ndims;
    int whole[MTF_SHAPE_ROOM], begin[MTF_SHAPE_ROOM], size[MTF_SHAPE_ROOM];
    int bytes; /* of one element */
} rank_block;

/* Copies the block of `owner`'s array into the array of every rank. */
bool ranks_spread(ranks *r, const char *what, int owner, const rank_block *b, void *array);

/* The last barrier.  After an error it chooses one rank to print it, and returns true on that rank;
 * ranks_close follows once the error is printed. */
bool ranks_part(ranks *r);
void ranks_close(ranks *r);

#endif
