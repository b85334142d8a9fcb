/* Reuse: how much a processor touches before it comes back to the same memory.
 *
 * What it used lately is still in its caches.  The program is walked through twice,
 * for what a step uses first was used last in the step before.
 */
#ifndef PLAN_REUSE_H
#define PLAN_REUSE_H

#include "program/program.h"

typedef struct reuse {
    const program *program;
    double         memory;  /* all of it, in bytes: nothing is further away */
    double         touched; /* bytes, by now; loops count one turn */
    int           *place;   /* by buffer: the first that had its place */
    double        *last;    /* by place: what was touched by then */
} reuse;

/* At the start of a step.  `beyond`: bytes that a step touches besides.  False: no memory. */
bool reuse_begin(reuse *x, const program *p, double beyond, arena *a);
/* Of operand k of an instruction, outputs first; not less than its own bytes. */
double reuse_of(const reuse *x, const instr *i, int k);
void   reuse_pass(reuse *x, const instr *i); /* goes on behind it */

#endif
