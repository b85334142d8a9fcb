/* Reuse: bytes accessed between two uses of the same memory.
 *
 * Memory that was used recently is still in the caches.  The program is visited
 * twice, because what a step uses first was last used in the step before.
 */
#ifndef PRICE_REUSE_H
#define PRICE_REUSE_H

#include "program/program.h"

/* Bytes, with one iteration of each loop: of the processor's own memory, and of other processors'
 * in collectives, which also passes through its caches. */
typedef struct reuse_count {
    double touched, fetched;
} reuse_count;

typedef struct reuse {
    const program *program;
    double         memory; /* all of it, in bytes: an upper bound for distances */
    reuse_count    now;
    int           *place; /* by buffer: the first buffer with the same place */
    reuse_count   *last;  /* by place: the counts before its last use */
} reuse;

/* At the start of a step.  `beyond`: bytes that a step accesses besides.  False: no memory. */
bool reuse_begin(reuse *x, const program *p, double beyond, arena *a);
/* For operand k of an instruction, outputs first; at least its own bytes. */
double reuse_of(const reuse *x, const instr *i, int k);
void   reuse_pass(reuse *x, const instr *i); /* continues after the instruction */

#endif
