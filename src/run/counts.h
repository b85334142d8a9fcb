/* Counts: what a processor really did, instruction by instruction.
 *
 * Kept only where the session measures.  Nothing here is taken from the plan:
 * turns are counted as they happen, kernels add the loops they ran, and the wire
 * the bytes it copied, sent and received.
 */
#ifndef RUN_COUNTS_H
#define RUN_COUNTS_H

#include <time.h>

#include "machine/wire.h"

/* One turn of an instruction, in seconds of the machine's monotonic clock. */
typedef struct run_event {
    int    instr;
    double begin, end;
} run_event;

typedef struct run_counts {
    const program  *program; /* NULL: nothing is counted */
    mtf_measured    sum;
    work_done       done;   /* by kernels */
    wire_moved      moved;  /* by the wire, in steps of this program */
    wire_moved      before; /* when the step began */
    int64_t        *turns;  /* by instruction, as in `sum` */
    double         *seconds, *first_seconds;
    int             current; /* the instruction that runs; -1: none */
    struct timespec since;
    run_event      *events; /* of a timeline: only the first `room` turns are kept */
    int             nevents, room;
    bool            recording;
} run_counts;

/* Room for the counts of a program; false after an error. */
bool counts_start(run_counts *c, program *p);
/* Room for the timeline of `turns` instructions; it records while `recording` is set. */
bool counts_keep_events(run_counts *c, program *p, int turns);
/* Around a step: what the wire, or NULL, has moved for processor `me` meanwhile counts. */
void count_begin(run_counts *c, const wire *w, int me);
void count_end(run_counts *c, const wire *w, int me);
/* Instruction k begins now, and the one before has ended; k = -1: the step has ended. */
void count_instr(run_counts *c, int k);

#endif
