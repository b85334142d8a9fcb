/* Which registers of a map hold one value per row. */
#ifndef PROGRAM_MAP_FORM_H
#define PROGRAM_MAP_FORM_H

#include "program/instr.h"

static inline bool map_folds(scalar_fn fn)
{
    return fn == FN_ROW_SUM || fn == FN_ROW_MAX || fn == FN_ROW_MIN;
}

/* Is output o a sum of columns? */
static inline bool map_sums(const instr *i, int o)
{
    return i->map.sums >> o & 1;
}

int  map_count_sums(const instr *i);
bool map_folds_rows(const instr *i); /* does some step of a map fold along rows? */

/* The step that computes a register; NULL: it is an input. */
static inline const scalar_step *map_register_step(const instr *i, int reg)
{
    return reg < i->nin ? NULL : &i->map.steps[reg - i->nin];
}

/* Lists the registers that a step reads, as a, b, c; returns their number. */
int map_operands(const scalar_step *s, int reg[3]);
/* Is the operand constant along the row? */
bool map_is_row(const instr *i, const access *a);
/* The operand that determines the order of loops: one with a value for each element. */
const access *map_leading(const instr *i);
/* row[k]: register k has one value per row.  Without a row none has. */
void    map_forms(const instr *i, bool row[MAX_REGISTERS]);
int64_t map_row(const instr *i);   /* elements in a row; 1: no row */
int64_t map_flops(const instr *i); /* values per row are computed once per row */

#endif
