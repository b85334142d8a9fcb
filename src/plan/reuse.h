/* Reuse: how much a processor touches before it comes back to the same memory.
 *
 * What it used lately is still in its caches.  The program is walked through twice,
 * for what a step uses first was used last in the step before.
 */
#ifndef PLAN_REUSE_H
#define PLAN_REUSE_H

#include "program/program.h"

/* Bytes, loops counting one turn: of its own memory, and of other processors' in collectives, which
 * passes through its caches, too. */
typedef struct reuse_count {
    double touched, fetched;
} reuse_count;

typedef struct reuse {
    const program *program;
    double         memory; /* all of it, in bytes: none of its own is further away */
    reuse_count    now;
    int           *place; /* by buffer: the first that had its place */
    reuse_count   *last;  /* by place: what was counted before its last use */
} reuse;

/* At the start of a step.  `beyond`: bytes that a step touches besides.  False: no memory. */
bool reuse_begin(reuse *x, const program *p, double beyond, arena *a);
/* Of operand k of an instruction, outputs first; not less than its own bytes. */
double reuse_of(const reuse *x, const instr *i, int k);
void   reuse_pass(reuse *x, const instr *i); /* goes on after it */

#endif
