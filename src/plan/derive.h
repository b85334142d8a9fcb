/* Computes an output of a map from its other operands. */
#ifndef PLAN_DERIVE_H
#define PLAN_DERIVE_H

#include "program/program.h"

enum { DERIVED_FROM = 6, DERIVED_STEPS = 8 };

typedef struct derived {
    instr       instr; /* a map with one output; its loops and output are those of the given map */
    access      in[DERIVED_FROM];
    scalar_step steps[DERIVED_STEPS];
    int         result;
} derived;

/* May the value be computed from this operand? */
typedef bool derive_from(const void *context, const access *a);

/* Computes output o of map `p` from p's inputs and other outputs, if `from` (NULL: all) allows
 * them, in at most `steps` cheap steps, not counting constants.  The result points into `d`.
 * False: impossible. */
bool derive_output(const instr *p, int o, int steps, derive_from *from, const void *context,
                   derived *d);

#endif
