/* What devices do by themselves, as far as programs are written for them.
 *
 * A plan needs no device to be there, only its abilities.
 */
#ifndef BASE_ABILITIES_H
#define BASE_ABILITIES_H

#include <stdbool.h>

#include "mtf.h"

typedef struct abilities {
    /* Bit t: it multiplies matrices of type t as they are, with sums of dtype_compute(t).  Operands of
     * other short floats are widened before. */
    unsigned products;
    int      longest_row; /* elements along which one map may fold */
    bool     sums_columns; /* a map may add up columns in passing */
    bool     recomputes;  /* reading a value from memory takes longer than computing it again */
} abilities;

/* Those of a device that is called by this name, such as "cuda"; of others, this chip's. */
abilities abilities_of(const char *device);

bool abilities_of_card(const char *device); /* is it a card, whatever checks it? */

static inline bool abilities_multiply(abilities a, mtf_dtype type)
{
    return a.products >> type & 1;
}

#endif
