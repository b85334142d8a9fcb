/* All processors of a mesh in one process, from one collective to the next.
 *
 * Each processor has its program and its memory on the exact device.  All run up
 * to their next collective; it is computed by its definition, element by element,
 * and they run on.  No wire is used.
 */
#ifndef VERIFY_LOCKSTEP_H
#define VERIFY_LOCKSTEP_H

#include "plan/plan.h"
#include "verify/exact.h"
#include "verify/shared.h"

enum { LOCKSTEP_ITERATIONS = 12 }; /* most iterations of a loop that a condition ends */

/* Programs are stored once where they are equal: everything here but memory is shared. */
typedef struct lane {
    mesh_point           here;
    int                  ninstrs, nbuffers, ninputs, nvariables, nfetches;
    const instr        **code;
    const buffer        *buffers;
    const port          *inputs, *variables, *fetches;
    const traced *const *trace;  /* by tensor id; NULL: not wanted */
    cell                *memory; /* of all its buffers */
    int64_t              cells;  /* in memory */
    const int64_t       *begin;  /* where each buffer begins, in bytes */
    exact                exact;
    int64_t              hashes;
    int                  at; /* the next instruction */
    int                  depth;
    int64_t              iterations[MAX_NESTING];
    bool                 cut_short; /* a loop was left although its condition still held */
} lane;

/* An operand of a collective; its elements are contiguous. */
typedef struct operand_row {
    cell     *at;
    mtf_dtype type;
    int64_t   step;
} operand_row;

typedef struct lockstep {
    mtf_session *session;
    mesh         mesh;
    arena        arena;
    shared       shared;
    int          nlanes;
    lane        *lanes;
    operand_row *given, *taken; /* by each lane in the collective that they have reached */
    bool         placed; /* buffers share the slab as planned; else each has its own memory */
    const char  *stuck;  /* why processors are not at the same collective; NULL: they are */
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
/* The same programs, which stay with `from`, with memory of their own; lockstep_close in any case. */
bool lockstep_copy(const lockstep *from, lockstep *l);
/* Refills memory for one key; elements that no instruction has written differ between processors. */
bool lockstep_clear(lockstep *l, uint64_t key);
/* One step.  False after an error, or where processors reach different collectives: see `stuck`. */
bool lockstep_step(lockstep *l);

/* Calls `what` for every lane, on all threads of the region that it is called in; false if one failed.  It
 * must not write what it reads of another lane. */
typedef bool lane_work(lockstep *l, int n);
bool         lockstep_each(lockstep *l, lane_work *what);
/* The cell of a slice at this offset. */
cell *lane_cell(const lane *k, const slice *s, int64_t offset);
/* One collective, which every lane has reached; false after an error. */
bool lockstep_collective(lockstep *l);

#endif
