/* The cheapest registers of a map from which others follow. */
#ifndef PLAN_LEAST_CUT_H
#define PLAN_LEAST_CUT_H

#include "program/instr.h"

#define NOT_AT_ANY_COST (INT64_MAX / 8)

typedef struct least_cut {
    const instr *map;
    int64_t      cost[MAX_REGISTERS];   /* of keeping a register; NOT_AT_ANY_COST: impossible */
    bool         wanted[MAX_REGISTERS]; /* must be computed from what is kept */
    bool         kept[MAX_REGISTERS];   /* the answer */
} least_cut;

/* Finds the registers to keep so that the wanted ones follow from them without folding a row again.
 * Of equally cheap choices it takes that with the least to compute.  Returns the cost. */
int64_t least_cut_find(least_cut *c);

#endif
