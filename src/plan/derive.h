/* A value that a map stores, made by a map of its own from what else is stored. */
#ifndef PLAN_DERIVE_H
#define PLAN_DERIVE_H

#include "program/program.h"

enum { DERIVED_FROM = 6, DERIVED_STEPS = 8 };

typedef struct derived {
    instr       instr; /* a map of one output, whose loops and output are those of the map before */
    access      in[DERIVED_FROM];
    scalar_step steps[DERIVED_STEPS];
    int         result;
} derived;

/* May the value be made from this operand? */
typedef bool derive_from(const void *context, const access *a);

/* Makes output o of map `p` from p's inputs and other outputs as far as `from` (NULL: all) allows them,
 * in at most `steps` cheap steps, constants beside.  The result points into `d`.  False: it cannot. */
bool derive_output(const instr *p, int o, int steps, derive_from *from, const void *context,
                   derived *d);

#endif
