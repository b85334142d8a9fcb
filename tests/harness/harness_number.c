/* Conversion and comparison of numbers; the short floats are rounded here, independently. */
#include "harness_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool is_float(mtf_dtype type)
{
    return type == MTF_F32 || type == MTF_BF16 || type == MTF_F16 || type == MTF_F64 ||
           type == MTF_F8E4M3 || type == MTF_F8E5M2;
}

/* ---- short floats ---- */

static uint16_t bf16_of(double v)
{
    float    f = (float)v;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    if (isnan(f)) return 0x7FC0;
    return (uint16_t)((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16);
}

static double of_bf16(uint16_t bits)
{
    uint32_t u = (uint32_t)bits << 16;
    float    f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint16_t f16_of(double v)
{
    unsigned sign = signbit(v) ? 0x8000u : 0;
    double   a = fabs(v);
    int      exponent;
    if (isnan(v)) return 0x7E00;
    if (a >= 65520) return (uint16_t)(sign | 0x7C00u);
    if (a < 0x1p-14) return (uint16_t)(sign | (unsigned)rint(a * 0x1p24));
    (void)frexp(a, &exponent);
    /* Rounding up to the next power of two carries into the exponent by itself. */
    unsigned fraction = (unsigned)rint(ldexp(a, 11 - exponent)) - 1024u;
    return (uint16_t)(sign | (((unsigned)(exponent + 14) << 10) + fraction));
}

static double of_f16(uint16_t bits)
{
    int    exponent = (bits >> 10) & 31, fraction = bits & 1023;
    double a = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return bits & 0x8000 ? -a : a;
}

/* By search: the nearest of all codes, and of two the even one; never infinity. */
static double of_f8(mtf_dtype type, uint8_t bits)
{
    int    low = type == MTF_F8E4M3 ? 3 : 2, bias = type == MTF_F8E4M3 ? 7 : 15;
    int    exponent = (bits & 0x7f) >> low, fraction = bits & ((1 << low) - 1);
    double a = exponent ? ldexp((1 << low) + fraction, exponent - bias - low)
                        : ldexp(fraction, 1 - bias - low);
    if (type == MTF_F8E5M2 && exponent == 31) a = fraction ? (double)NAN : (double)INFINITY;
    if (type == MTF_F8E4M3 && (bits & 0x7f) == 0x7f) a = (double)NAN;
    return bits & 0x80 ? -a : a;
}

static uint8_t f8_of(mtf_dtype type, double v)
{
    unsigned best = 0, sign = signbit(v) ? 0x80u : 0;
    double   a = fabs(v), away = INFINITY;
    if (isnan(v)) return 0x7f;
    for (unsigned code = 0; code < 0x80; code++) {
        double at = of_f8(type, (uint8_t)code), off = fabs(fmin(a, 1e6) - at);
        if (!isfinite(at) || off > away || (off == away && code % 2)) continue;
        best = code;
        away = off;
    }
    return (uint8_t)(best | sign);
}

/* ---- elements ---- */

static void write_one(const char *word, char **end, mtf_dtype type, int64_t i, void *data)
{
    if (!is_float(type)) {
        long long v = strtoll(word, end, 10);
        if (type == MTF_I32) ((int32_t *)data)[i] = (int32_t)v;
        if (type == MTF_I64) ((int64_t *)data)[i] = v;
        if (type == MTF_BOOL) ((uint8_t *)data)[i] = v != 0;
        return;
    }
    double v = strtod(word, end);
    if (type == MTF_F32) ((float *)data)[i] = (float)v;
    if (type == MTF_F64) ((double *)data)[i] = v;
    if (type == MTF_BF16) ((uint16_t *)data)[i] = bf16_of(v);
    if (type == MTF_F16) ((uint16_t *)data)[i] = f16_of(v);
    if (type == MTF_F8E4M3 || type == MTF_F8E5M2) ((uint8_t *)data)[i] = f8_of(type, v);
}

bool numbers_write(const char *text, mtf_dtype type, int64_t n, void *data)
{
    for (int64_t i = 0; i < n; i++) {
        char *end;
        write_one(text, &end, type, i, data);
        if (end == text) return false;
        text = end;
    }
    return text[strspn(text, " ")] == 0;
}

double number_at(const void *data, mtf_dtype type, int64_t i)
{
    switch (type) {
    case MTF_F32: return ((const float *)data)[i];
    case MTF_BF16: return of_bf16(((const uint16_t *)data)[i]);
    case MTF_F16: return of_f16(((const uint16_t *)data)[i]);
    case MTF_F64: return ((const double *)data)[i];
    case MTF_I32: return ((const int32_t *)data)[i];
    case MTF_I64: return (double)((const int64_t *)data)[i];
    case MTF_F8E4M3:
    case MTF_F8E5M2: return of_f8(type, ((const uint8_t *)data)[i]);
    default: return ((const uint8_t *)data)[i];
    }
}

/* ---- comparison ---- */

static double tolerance_of(mtf_dtype type)
{
    switch (type) {
    case MTF_F32: return 2e-6;
    case MTF_F64: return 1e-12;
    case MTF_BF16: return 8e-3;
    case MTF_F16: return 1e-3;
    case MTF_F8E4M3: return 0.07;
    case MTF_F8E5M2: return 0.13;
    default: return 0;
    }
}

static bool close_enough(double expected, double found, double tolerance, double scale)
{
    if (isnan(expected) || isnan(found)) return isnan(expected) && isnan(found);
    if (isinf(expected) || isinf(found)) return expected == found;
    return fabs(expected - found) <= tolerance * (fabs(expected) + scale);
}

static double magnitude(const void *data, mtf_dtype type, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double a = fabs(number_at(data, type, i));
        if (isfinite(a) && a > most) most = a;
    }
    return fmin(fmax(most, 0.1), 1);
}

static void say_difference(const void *expected, const void *found, mtf_dtype wide, mtf_dtype type,
                           int64_t i, char *error, int room)
{
    if (type == MTF_I64) /* a double does not hold them all */
        snprintf(error, (size_t)room, "element %lld: expected %lld, found %lld", (long long)i,
                 (long long)((const int64_t *)expected)[i], (long long)((const int64_t *)found)[i]);
    else
        snprintf(error, (size_t)room, "element %lld: expected %.9g, found %.9g", (long long)i,
                 number_at(expected, wide, i), number_at(found, type, i));
}

bool numbers_agree(const char *text, const void *data, mtf_dtype type, int64_t n, closeness how,
                   char *error, int room)
{
    /* A tolerance of 0 asks for the very number of the type; otherwise the wider one counts. */
    bool      exact = !is_float(type) || how.tolerance == 0;
    mtf_dtype wide = exact ? type : MTF_F64;
    size_t    bytes = mtf_dtype_bytes(type);
    char     *expected = calloc((size_t)n + 1, sizeof(double));
    bool      good = expected && numbers_write(text, wide, n, expected);
    if (!good) snprintf(error, (size_t)room, "has %lld elements", (long long)n);
    double tolerance = how.tolerance < 0 ? tolerance_of(type) : how.tolerance;
    double scale = good && !exact && !how.relative ? magnitude(expected, wide, n) : 0;
    for (int64_t i = 0; i < n && good; i++) {
        size_t at = (size_t)i * bytes;
        if (!is_float(type))
            good = !memcmp(expected + at, (const char *)data + at, bytes);
        else
            good = close_enough(number_at(expected, wide, i), number_at(data, type, i), tolerance,
                                scale);
        if (!good) say_difference(expected, data, wide, type, i, error, room);
    }
    free(expected);
    return good;
}
