/* Fusing two maps into one. */
#ifndef PLAN_FUSE_INTO_H
#define PLAN_FUSE_INTO_H

#include "program/program.h"

/* How the loops of a reading map (c) and of the map that wrote its operand (p) become those of one
 * map: outer loops first, then those of the row. */
typedef struct joint_loops {
    int     n, nrow;
    int64_t size[MAX_LOOPS];
    int     of_c[MAX_LOOPS], of_p[MAX_LOOPS]; /* -1: it has no such loop and repeats along it */
} joint_loops;

/* Finds them, for c's input k that reads p's output o; false: the two cannot be fused. */
bool fuse_loops(const instr *c, int k, const instr *p, int o, joint_loops *j);
/* The same where p's value may be computed again wherever it is read: c repeats it along any loops. */
bool fuse_repeated(const instr *c, int k, const instr *p, int o, joint_loops *j);
/* Makes c compute what p computes as well.  keep[o]: p's output o is still stored.  False if the
 * map would be too large, and then c is unchanged, or after an error. */
bool fuse_into(program *to, instr *c, const instr *p, const joint_loops *j, const bool *keep);

#endif
