/* Runs: contiguous elements of a tensor that a part holds.
 *
 * A part that is cut along a late dimension is many short contiguous runs of
 * the whole.  The runs of all parts of a process are enumerated in the order
 * of the whole, so that adjacent ones can be read or written at once.
 */
#ifndef CHECKPOINT_RUNS_H
#define CHECKPOINT_RUNS_H

#include "mtf.h"

typedef struct part_run {
    int64_t place, count; /* in the whole, in elements */
    int64_t from;         /* where it begins in the part, in elements */
    int     part;         /* its number in the list */
} part_run;

typedef struct run_cursor {
    int64_t place; /* of the next run; -1: there is none */
    int64_t from, count;
    int     fixed;
    int64_t at[MTF_SHAPE_ROOM];
} run_cursor;

typedef struct part_runs {
    const mtf_shape *shape; /* of the whole */
    int              nparts;
    const mtf_part  *parts;   /* dense and row-major */
    run_cursor      *cursors; /* by part */
} part_runs;

/* `cursors` has room for one cursor for each part. */
void runs_start(part_runs *r, const mtf_shape *shape, int nparts, const mtf_part *parts,
                run_cursor *cursors);
bool runs_next(part_runs *r, part_run *next); /* false: there are no more */

/* Copies between this process's memory and that of parts; `where` is the device's context. */
typedef struct part_copier {
    void (*copy)(void *where, void *to, const void *from, size_t bytes); /* NULL: memcpy */
    void *where;
} part_copier;

#endif
