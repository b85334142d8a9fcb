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

#endif
