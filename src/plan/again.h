/* Outputs of a map, computed again from registers that are kept. */
#ifndef PLAN_AGAIN_H
#define PLAN_AGAIN_H

#include "program/instr.h"

enum { AGAIN_OUTPUTS = 8, AGAIN_INPUTS = 24, AGAIN_STEPS = 96 };

/* The type that holds a register exactly. */
mtf_dtype again_type(const instr *m, int reg);
/* The register from which output o can be stored again; -1: none, since it is a sum of columns, or
 * rounded when it is stored, and other steps need it unrounded. */
int again_register(const instr *m, int o);
/* The output that is computed from this register; -1: none. */
int again_output(const instr *m, int reg);

typedef struct again {
    instr       map;                       /* points into what follows */
    int         nsteps, at[MAX_REGISTERS]; /* by register: its number here; -1: not yet */
    access      in[AGAIN_INPUTS], out[AGAIN_OUTPUTS];
    scalar_step steps[AGAIN_STEPS];
    int         results[AGAIN_OUTPUTS];
} again;

/* A map with the outputs o of `m` for which wanted[o], from the registers for which kept[reg], which
 * are at place[reg].  False: it would be too large. */
bool again_make(again *a, const instr *m, const bool *wanted, const bool *kept,
                const access *place);

/* Leaves out the row, of `nrow` loops, if all operands have one value per row. */
void again_leave_out_row(instr *m, int nrow);

#endif
