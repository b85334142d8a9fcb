/* Stages: collectives inside hosts, and between them.
 *
 * A group with several members on each of several hosts reduces and gathers in two stages: members of a
 * host do what they can in the memory that they share, and each exchanges its share of the rest with the
 * members of its own place on the other hosts.
 *
 *     all_reduce: each member adds up its share of its host's operands, then its part of that share over
 *         all hosts; the parts go back the same way.
 *     reduce_scatter: the first half; gather: the second half.
 *
 * Hosts have equally many consecutive processors, one in each process.  Where an axis leaves a host half
 * way, it is taken for two: along one of them members differ by host, along the other by place.
 */
#ifndef PROGRAM_STAGES_H
#define PROGRAM_STAGES_H

#include "program/group.h"
#include "program/site.h"

/* How many processors that differ along this axis only share a host of `node` consecutive ones: numbers
 * run fastest along the last axis.  1 if hosts and axes do not match; 0 for `node`: all are on one. */
int stages_near(int node, const mesh *m, int axis);

/* A mesh whose axes are inside hosts or between them; processors have the same numbers in both. */
typedef struct host_mesh {
    mesh     mesh;
    int      cut;    /* the axis of the original that is two here; -1: none */
    unsigned inside; /* axes inside hosts; 0 where there is one stage only */
    unsigned mixed;  /* axes of the original that do not match the hosts */
} host_mesh;

host_mesh host_mesh_of(const site *s, const mesh *m);
unsigned  host_mesh_axes(const host_mesh *h, unsigned axes); /* those of the original, here */

/* A group by host and place.  All is counted in ascending order of processors. */
typedef struct stages {
    host_mesh hosts;
    group     inside, across; /* members of this host; members of this place */
} stages;

/* All members on one host. */
stages stages_one_host(const mesh *m, int me, unsigned axes);
/* Is this collective done in two stages?  If so, fills in how.  What few members swap at once is not. */
bool stages_find(const site *s, const mesh *m, int me, const instr *i, stages *t);
/* May it have two stages: is it a reduction or a gather, which only makes parts coarser? */
bool stages_suit(const instr *i);
int  stages_member(const stages *t, int host, int place); /* its processor */

/* What the member of this host and place holds in between: elements of the operand of a reduction, of
 * the result of a gather.  The shares of one place lie in the order of hosts. */
span    stages_share(const stages *t, const mesh *m, const instr *i, int host, int place);
int64_t stages_shares(const stages *t, const mesh *m, const instr *i,
                      int place); /* of all hosts: elements */
/* Elements of the operand that is reduced, or of the result that is gathered: the same for all members. */
int64_t stages_whole(const mesh *m, const instr *i, const mesh_point *here);
/* Does a gather pass through shared memory inside hosts?  Its parts are contiguous in the result. */
bool stages_meet(const mesh *m, int me, const instr *i);

#endif
