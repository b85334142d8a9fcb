/* The rows of scalars.h on single numbers of f32.
 *
 * Included once for chips with fused multiply-add, and once for those that
 * round twice, as inner loops are compiled.
 */
/* clang-format off */
#ifndef PROGRAM_SCALAR_F32_H
#define PROGRAM_SCALAR_F32_H

#include "program/instr.h"
#include "program/scalar_text.h"

/* A row as a case of a switch: its value, or nothing if its class is illegal in the type. */
#define REAL(name, value)                                                                          \
    case FN_##name:                                                                                \
        return (scalar){.real = (double)(value)};
#define WHOLE(name, value)                                                                         \
    case FN_##name:                                                                                \
        return (scalar){.whole = (int64_t)(value)};

#define REAL1(name, value, ...) REAL(name, value)
#define ANY1(name, value, ...) REAL(name, value)
#define TEST1(name, value, ...) WHOLE(name, value)
#define LOGIC1(name, value, ...)
#define REAL2(name, value, ...) REAL(name, value)
#define ANY2(name, value, ...) REAL(name, value)
#define BITS2(name, ...)
#define COMPARE(name, value, ...) WHOLE(name, value)
#define LOGIC2(name, value, ...)

static scalar eval_f32(scalar_fn fn, float x, float y)
{
    switch ((int)fn) {
#include "program/scalars.h"
    }
    return (scalar){.real = (double)x};
}

#include "program/scalars_end.h"

scalar scalar_eval_twice(scalar_fn fn, float x, float y); /* with ROUND_TWICE */

#endif
