/* Counts: what a processor did, instruction by instruction.
 *
 * Only kept of programs that are measured.  Nothing here is taken from the plan:
 * instructions are counted when they run, kernels add the flops of the loops
 * that they ran, and the wire the bytes that it copied, sent and received.
 */
#ifndef RUN_COUNTS_H
#define RUN_COUNTS_H

#include <time.h>

#include "machine/wire.h"

/* One execution of an instruction, in seconds of the monotonic clock. */
typedef struct run_event {
    int    instr;
    double begin, end;
} run_event;

typedef struct run_counts {
    const program  *program; /* NULL: never counted */
    bool            on;      /* this step is counted */
    mtf_measured    sum;
    work_done       done;       /* by kernels */
    wire_moved      moved;      /* by the wire, in steps of this program */
    wire_moved      before;     /* when the step began */
    int64_t        *executions; /* of each instruction; as in `sum` */
    double         *seconds, *first_seconds;
    int             current; /* the running instruction; -1: none */
    struct timespec since;
    run_event      *events; /* timeline: only the first `room` executions are kept */
    int             nevents, room;
    bool            recording;
} run_counts;

/* Allocates the counts of a program, and switches them on; false after an error. */
bool counts_start(run_counts *c, program *p);
/* Allocates a timeline of `executions` instructions; it records while `recording` is set. */
bool counts_keep_events(run_counts *c, program *p, int executions);
/* Called before and after a step: adds what the wire, which may be NULL, moved for processor
 * `me`. */
void count_begin(run_counts *c, const wire *w, int me);
void count_end(run_counts *c, const wire *w, int me);
/* Instruction k begins now, and the one before ends; k = -1: the step ends. */
void count_instr(run_counts *c, int k);

#endif
