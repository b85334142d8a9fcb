/* The chip that this process runs on, and what it can do. */
#ifndef BASE_CHIP_H
#define BASE_CHIP_H

#include <stdbool.h>

#include "mtf.h"

/* Instructions that multiply bf16 matrices; at most one family is there.  Asking for AMX asks the
 * system, too, which has to let a process use its registers. */
bool chip_has_bfmmla(void);      /* arm64 */
bool chip_has_avx512_bf16(void); /* x86-64 */
bool chip_has_amx_bf16(void);    /* beside the former */

#endif
