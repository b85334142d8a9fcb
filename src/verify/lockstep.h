/* All processors of a mesh in one thread.
 *
 * Each processor has its program and its memory on the exact device.  All walk
 * to their next collective; that is done by its definition, element by element, and
 * they walk on.  No wire is used.
 */
#ifndef VERIFY_LOCKSTEP_H
#define VERIFY_LOCKSTEP_H

#include "plan/plan.h"
#include "verify/exact.h"

enum { LOCKSTEP_TURNS = 12 }; /* of a loop that a condition ends, at most */

typedef struct lane {
    mesh_point here;
    program   *program;
    traced    *trace;  /* by tensor id; NULL: not wanted */
    cell      *memory; /* of all its buffers */
    int64_t    cells;  /* how many that are */
    int64_t   *begin;  /* where each buffer begins, in bytes */
    exact      exact;
    int        at; /* the next instruction */
    int        depth;
    int64_t    turns[MAX_NESTING];
    bool     cut_short; /* a loop that a condition ends was left before it did */
} lane;

typedef struct lockstep {
    mtf_session *session;
    mesh         mesh;
    arena        arena;
    int          nlanes;
    lane        *lanes;
    bool         placed; /* buffers share the slab as planned, or each has a place of its own */
    const char  *stuck;  /* processors that do not meet in one collective: what is wrong */
} lockstep;

typedef struct lockstep_opts {
    mtf_graph           *graph;
    int                  nfetches;
    mtf_tensor *const   *fetches;
    const layout        *layout; /* NULL: one processor */
    plan_pass            last;
    bool                 trace;
    const struct survey *survey;
} lockstep_opts;

/* Plans every processor's program; false after an error.  lockstep_close in any case. */
bool lockstep_open(lockstep *l, const lockstep_opts *how);
void lockstep_close(lockstep *l);
/* Memory anew, for one prime and one key: what nobody wrote differs from processor to processor. */
bool lockstep_clear(lockstep *l, const field *f, uint64_t key);
/* One step.  False after an error, or where processors do not meet: then `stuck` says why. */
bool lockstep_step(lockstep *l);

/* Where the elements of a slice are. */
cell *lane_cell(const lane *k, const slice *s, int64_t offset);
/* One collective, which every lane has reached; false after an error. */
bool lockstep_collective(lockstep *l);

#endif
