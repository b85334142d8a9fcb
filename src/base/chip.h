/* The chip that this process runs on, and what it can do. */
#ifndef BASE_CHIP_H
#define BASE_CHIP_H

#include <stdbool.h>

#include "mtf.h"

/* Does the chip have these instructions for products of bf16 matrices?  chip_has_amx_bf16 also asks
 * the system to let this process use the registers of AMX. */
bool chip_has_bfmmla(void);      /* arm64 */
bool chip_has_avx512_bf16(void); /* x86-64 */
bool chip_has_amx_bf16(void);    /* x86-64, together with the former */

/* What a device can do, as far as planning depends on it. */
typedef struct abilities {
    /* Bit t: it multiplies matrices of type t directly, with sums of type dtype_compute(t).
     * Operands of other short float types are widened first. */
    unsigned products;
} abilities;

abilities chip_abilities(void);

static inline bool abilities_multiply(abilities a, mtf_dtype type)
{
    return a.products >> type & 1;
}

#endif
