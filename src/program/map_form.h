/* What a map's registers hold: an element each, or one number a row. */
#ifndef PROGRAM_MAP_FORM_H
#define PROGRAM_MAP_FORM_H

#include "program/instr.h"

static inline bool map_folds(scalar_fn fn)
{
    return fn == FN_ROW_SUM || fn == FN_ROW_MAX || fn == FN_ROW_MIN;
}

bool map_folds_rows(const instr *i); /* does some step of a map do so? */

/* The registers that a step reads, as a, b, c: how many. */
int map_operands(const scalar_step *s, int reg[3]);
/* Is the operand the same all along the row? */
bool map_is_row(const instr *i, const access *a);
/* row[k]: register k is one number a row.  Without a row none is. */
void    map_forms(const instr *i, bool row[MAX_REGISTERS]);
int64_t map_row(const instr *i);   /* elements in a row; 1: there is none */
int64_t map_flops(const instr *i); /* what is one number a row is computed once a row */

#endif
