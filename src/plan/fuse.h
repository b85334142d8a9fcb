/* Fusing two maps into one. */
#ifndef PLAN_FUSE_H
#define PLAN_FUSE_H

#include "program/program.h"

/* How the loops of a map that reads (c) and of the map that wrote what it reads (p) become those of
 * one map: outer loops first, then those of the row. */
typedef struct joint_loops {
    int     n, nrow;
    int64_t size[MAX_LOOPS];
    int     of_c[MAX_LOOPS], of_p[MAX_LOOPS]; /* -1: it has no such loop and repeats along it */
} joint_loops;

/* Finds them, for c's input k that reads p's output o; false: the two do not go together. */
bool fuse_loops(const instr *c, int k, const instr *p, int o, joint_loops *j);
/* Makes c do what p does besides.  keep[o]: p's output o is still stored.  False where that would be
 * too large a map, and c is as it was, or after an error. */
bool fuse_into(program *to, instr *c, const instr *p, const joint_loops *j, const bool *keep);

#endif
