/* Where a map's registers lie while it runs.
 *
 * Each register has a slot, one tile of scratch; the slot of a result that is not
 * stored is reused after the last step that reads it.  A register with one value
 * per row also has a second slot, with the value repeated along the row, if a
 * step needs it per element.
 */
#ifndef CPU_MAP_REGISTERS_H
#define CPU_MAP_REGISTERS_H

#include "cpu/map_formulas.h"
#include "cpu/map_soft.h"

enum { NO_SLOT = -1 };

typedef struct map_registers {
    int  n;                    /* inputs and steps */
    int  slots;                /* how many are needed */
    int  bytes;                /* of an element of the widest compute type */
    bool row[MAX_REGISTERS];   /* one value per row */
    bool fixed[MAX_REGISTERS]; /* constant: filled once */
    int16_t
        last[MAX_REGISTERS]; /* the last step that reads it; the number of steps: it is stored */
    int16_t        slot[MAX_REGISTERS];   /* NO_SLOT: exists only inside a formula's loop */
    int16_t        spread[MAX_REGISTERS]; /* slot of the copy per element, or NO_SLOT */
    formula_places formulas;
    soft_place     soft;
} map_registers;

/* Is the operand constant? */
map_registers map_registers_of(const instr *i);

#endif
