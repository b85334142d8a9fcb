/* Element types: sizes, names, and the short floats.
 *
 * bf16, f16, f8e4m3 and f8e5m2 exist only in memory: loading widens to f32, storing
 * rounds to nearest, ties to even.  What is too large for f8, infinity included, is stored as
 * the largest finite number, and every NaN as 0x7f, without a sign: the sign of a NaN differs
 * between compilers and processors.  A scalar is one element of any type, exactly.
 */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

#include <string.h>

#include "mtf.h"

enum { DTYPES = MTF_F8E5M2 + 1 };

bool      dtype_parse(const char *name, mtf_dtype *type);
bool      dtype_is_float(mtf_dtype type);
bool      dtype_is_int(mtf_dtype type);
bool      dtype_is_f8(mtf_dtype type);
bool      dtype_is_short(mtf_dtype type); /* bf16, f16 */
mtf_dtype dtype_compute(mtf_dtype type);  /* the type in which arithmetic is done */
/* NULL where the type can hold x, rounded or not; else a sentence in `text` that says why it
 * cannot. */
enum { DTYPE_REFUSAL = 100 };
const char *dtype_refuses(mtf_dtype type, double x, char text[DTYPE_REFUSAL]);

/* One element as a double (exact for all but large i64), and back (saturating, NaN to 0). */
double dtype_load(mtf_dtype type, const void *from, int64_t index);
void   dtype_store(mtf_dtype type, void *to, int64_t index, double value);

/* One element: floats of any width are in `real`, integers and bool in `whole`. */
typedef union scalar {
    double  real;
    int64_t whole;
} scalar;

scalar dtype_scalar(mtf_dtype type, double value); /* as dtype_store would store it */
double dtype_real(mtf_dtype type, scalar value);   /* as dtype_load would load it */
void   dtype_put(mtf_dtype type, void *to, int64_t index, scalar value); /* `value` has the type */
bool   dtype_is_zero(mtf_dtype type, scalar value);

/* Many elements, as dtype_load and dtype_store would; large i64 stay exact among integers. */
void dtype_convert(mtf_dtype to_type, void *to, mtf_dtype from_type, const void *from,
                   int64_t count);

/* Without branches, so that the compiler vectorizes loops over them: masks choose the result. */
static inline float f32_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t f32_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float bf16_to_f32(uint16_t h)
{
    return f32_of_bits((uint32_t)h << 16);
}

static inline uint16_t f32_to_bf16(float f)
{
    uint32_t bits = f32_bits(f), nan = 0 - (uint32_t)((bits & 0x7fffffffu) > 0x7f800000u);
    uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u), quiet = bits | 0x400000u;
    return (uint16_t)(((quiet & nan) | (rounded & ~nan)) >> 16);
}

/* A multiplication adjusts the exponent, of subnormals too; infinity and NaN get an exponent of all
 * ones. */
static inline float f16_to_f32(uint16_t h)
{
    uint32_t rest = (uint32_t)(h & 0x7fffu) << 13, sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t most = (0 - (uint32_t)(rest >= 0x0f800000u)) & 0x7f800000u;
    return f32_of_bits(f32_bits(f32_of_bits(rest) * 0x1p112f) | most | sign);
}

static inline uint16_t f32_to_f16(float f)
{
    uint32_t bits = f32_bits(f), rest = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    /* For a subnormal result: adding this aligns the mantissa and rounds it. */
    uint32_t aligned = f32_bits(f32_of_bits(rest) + 0.5f) - 0x3f000000u;
    uint32_t rounded = (rest + 0xfffu + (rest >> 13 & 1u) - 0x38000000u) >> 13;
    uint32_t low = 0 - (uint32_t)(rest < 0x38800000u);
    uint32_t high = 0 - (uint32_t)(rest >= 0x477ff000u); /* rounds to infinity */
    uint32_t nan = (0 - (uint32_t)(rest > 0x7f800000u)) & 0x200u;
    uint32_t usual = (aligned & low) | (rounded & ~low);
    return (uint16_t)((usual & ~high) | ((0x7c00u | nan) & high) | sign);
}

/* The f8 code of a float's magnitude `rest`, at most the largest finite number: its mantissa keeps
 * 23 - shift bits, its exponent moves by `bias`, and below `normal` results are subnormal: adding
 * `align` aligns their mantissa and rounds it. */
static inline uint32_t f8_rounded(uint32_t rest, unsigned shift, uint32_t bias, uint32_t normal,
                                  float align)
{
    uint32_t aligned = f32_bits(f32_of_bits(rest) + align) - f32_bits(align);
    uint32_t half = (1u << (shift - 1)) - 1;
    uint32_t rounded = (rest + half + (rest >> shift & 1u) - (bias << 23)) >> shift;
    uint32_t low = 0 - (uint32_t)(rest < normal);
    return (aligned & low) | (rounded & ~low);
}

static inline uint8_t f32_to_f8e4m3(float f)
{
    const uint32_t most = 0x43e00000u, normal = 0x3c800000u; /* 448, 2^-6 */
    uint32_t       bits = f32_bits(f), rest = bits & 0x7fffffffu;
    uint32_t       nan = 0 - (uint32_t)(rest > 0x7f800000u), sign = bits >> 24 & 0x80u;
    rest = rest < most ? rest : most;
    return (uint8_t)(f8_rounded(rest, 20, 120, normal, 0x1p14f) | (sign & ~nan) | (nan & 0x7fu));
}

static inline float f8e4m3_to_f32(uint8_t h)
{
    uint32_t rest = (uint32_t)(h & 0x7fu) << 20, sign = (uint32_t)(h & 0x80u) << 24;
    uint32_t nan = (0 - (uint32_t)(rest == 0x07f00000u)) & 0x7fc00000u;
    return f32_of_bits(f32_bits(f32_of_bits(rest) * 0x1p120f) | nan | sign);
}

static inline uint8_t f32_to_f8e5m2(float f)
{
    const uint32_t most = 0x47600000u, normal = 0x38800000u; /* 57344, 2^-14 */
    uint32_t       bits = f32_bits(f), rest = bits & 0x7fffffffu;
    uint32_t       nan = 0 - (uint32_t)(rest > 0x7f800000u), sign = bits >> 24 & 0x80u;
    rest = rest < most ? rest : most;
    return (uint8_t)(f8_rounded(rest, 21, 112, normal, 0x1p7f) | (sign & ~nan) | (nan & 0x7fu));
}

/* The upper half of an f16. */
static inline float f8e5m2_to_f32(uint8_t h)
{
    return f16_to_f32((uint16_t)(h << 8));
}

#endif
