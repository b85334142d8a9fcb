/* Where a map's registers lie while it runs.
 *
 * Each register has a slot, one tile of scratch; those of results that are not
 * stored are used again when the last step has read them.  A register that is one
 * number a row is also spread over the row, in a second slot, where a step needs
 * it with an element each.
 */
#ifndef MACHINE_MAP_REGISTERS_H
#define MACHINE_MAP_REGISTERS_H

#include "machine/kernels/map_formulas.h"
#include "machine/kernels/map_soft.h"

enum { NO_SLOT = -1 };

typedef struct map_registers {
    int  n;                    /* inputs and steps */
    int  slots;                /* how many are needed */
    int  bytes;                /* of an element of the widest compute type */
    bool row[MAX_REGISTERS];   /* one number a row */
    bool fixed[MAX_REGISTERS]; /* one number throughout: filled once */
    int16_t
        last[MAX_REGISTERS]; /* the last step that reads it; the number of steps: it is stored */
    int16_t        slot[MAX_REGISTERS];   /* NO_SLOT: only a formula's loop sees it */
    int16_t        spread[MAX_REGISTERS]; /* slot of the spread copy, or NO_SLOT */
    formula_places formulas;
    soft_place     soft;
} map_registers;

/* Is the operand one element throughout? */
bool          map_is_fixed(const instr *i, const access *a);
map_registers map_registers_of(const instr *i);

#endif
