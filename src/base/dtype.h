/* Element types: sizes, names, and the two short floats.
 *
 * bf16 and f16 exist only in memory: loading widens to f32, storing rounds to
 * nearest, ties to even.
 */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

#include <string.h>

#include "mtf.h"

enum { DTYPES = MTF_BOOL + 1 };

bool      dtype_parse(const char *name, mtf_dtype *type);
bool      dtype_is_float(mtf_dtype type);
bool      dtype_is_int(mtf_dtype type);
mtf_dtype dtype_compute(mtf_dtype type); /* the type arithmetic happens in */

/* One element as a double (exact for all but large i64), and back (saturating, NaN to 0). */
double dtype_load(mtf_dtype type, const void *from, int64_t index);
void   dtype_store(mtf_dtype type, void *to, int64_t index, double value);

static inline float bf16_to_f32(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float    f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint16_t f32_to_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u); /* quiet NaN */
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, bits = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t out;
    float    f;
    if (bits >= 0x0f800000u) { /* infinity, NaN: the exponent becomes all ones */
        out = sign | 0x7f800000u | (bits & 0x007fffffu);
    } else if (bits >= 0x00800000u) {
        out = sign | (bits + 0x38000000u);
    } else { /* subnormal: let the float unit normalise it */
        f = (float)(h & 0x3ffu) * 0x1p-24f;
        return sign ? -f : f;
    }
    memcpy(&f, &out, sizeof f);
    return f;
}

static inline uint16_t f32_to_f16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (rest >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* rounds to infinity */
    if (rest < 0x38800000u) { /* subnormal: adding this aligns the mantissa and rounds it */
        float magnitude, aligned;
        memcpy(&magnitude, &rest, sizeof magnitude);
        aligned = magnitude + 0.5f;
        memcpy(&rest, &aligned, sizeof rest);
        return (uint16_t)(sign | (rest - 0x3f000000u));
    }
    rest += 0xfffu + (rest >> 13 & 1u);
    return (uint16_t)(sign | ((rest - 0x38000000u) >> 13));
}

#endif
