/* Numbers with a bound on the error of another evaluation. */
#include "number.h"

#include <stdint.h>
#include <string.h>

static bool is_f8(mtf_dtype type)
{
    return type == MTF_F8E4M3 || type == MTF_F8E5M2;
}

bool is_real(mtf_dtype type)
{
    return type == MTF_F32 || type == MTF_F64 || number_summed_in(type) != type;
}

mtf_dtype number_summed_in(mtf_dtype type)
{
    bool short_float = type == MTF_BF16 || type == MTF_F16 || is_f8(type);
    return short_float ? MTF_F32 : type;
}

/* ---- types ---- */

typedef struct format {
    int    digits; /* of the significand, in bits */
    int    least;  /* exponent of the smallest number above 0 */
    double most;
} format;

static format format_of(mtf_dtype type)
{
    switch (type) {
    case MTF_BF16: return (format){8, -133, 3.38953139e38};
    case MTF_F16: return (format){11, -24, 65504};
    case MTF_F8E4M3: return (format){4, -9, 448};
    case MTF_F8E5M2: return (format){3, -16, 57344};
    case MTF_F32: return (format){24, -149, 3.40282347e38};
    default: return (format){53, -1074, 1.7976931348623157e308};
    }
}

/* The exponent of the lowest digit. */
static int grain_of(double v)
{
    int    exponent;
    double f = frexp(v, &exponent);
    if (v == 0) return ALL_GRAIN;
    if (!isfinite(v)) return ALL_GRAIN;
    int64_t bits = (int64_t)ldexp(fabs(f), 53);
    return exponent - 53 + __builtin_ctzll((unsigned long long)bits);
}

static int64_t wrapped(uint64_t u, mtf_dtype type)
{
    if (type == MTF_BOOL) return u != 0;
    return type == MTF_I32 ? (int64_t)(int32_t)(uint32_t)u : (int64_t)u;
}

/* ---- making ---- */

number number_real(double v)
{
    if (isnan(v)) return number_unknown();
    return (number){.v = v, .mass = fabs(v), .grain = grain_of(v)};
}

number number_int(int64_t i, mtf_dtype type)
{
    return (number){.i = wrapped((uint64_t)i, type)};
}

number number_bool(bool b)
{
    return (number){.i = b};
}

number number_unknown(void)
{
    return (number){.slack = INFINITY, .grain = NO_GRAIN};
}

bool number_known(number a)
{
    return a.slack < (double)INFINITY;
}

number number_zero(mtf_dtype type)
{
    return is_real(type) ? number_real(0) : number_int(0, type);
}

number number_written(double v, mtf_dtype type)
{
    return number_rounded(number_real(v), type, 1);
}

/* Expands a short float, of `low` digits in its fraction, by the book. */
static double short_float(uint16_t bits, int exponent_bits, int low)
{
    int    most = (1 << exponent_bits) - 1, bias = most / 2;
    int    exponent = bits >> low & most, fraction = bits & ((1 << low) - 1);
    double a = exponent == most ? (fraction ? (double)NAN : (double)INFINITY)
               : exponent       ? ldexp((1 << low) + fraction, exponent - bias - low)
                                : ldexp(fraction, 1 - bias - low);
    return bits & 0x8000 ? -a : a;
}

number number_load(mtf_dtype type, const void *data, int64_t i)
{
    uint16_t h;
    switch (type) {
    case MTF_F64: return number_real(((const double *)data)[i]);
    case MTF_F32: return number_real((double)((const float *)data)[i]);
    case MTF_I64: return number_int(((const int64_t *)data)[i], type);
    case MTF_I32: return number_int(((const int32_t *)data)[i], type);
    case MTF_BOOL: return number_bool(((const uint8_t *)data)[i]);
    case MTF_F8E5M2: /* the upper half of an f16 */
        return number_real(short_float((uint16_t)(((const uint8_t *)data)[i] << 8), 5, 10));
    case MTF_F8E4M3:
        h = ((const uint8_t *)data)[i];
        if ((h & 0x7f) == 0x7f) return number_unknown();
        /* An exponent more than short_float's: no code stands for infinity. */
        return number_real(ldexp(short_float((uint16_t)((h & 0x7f) | (h & 0x80) << 8), 5, 3), 8));
    default:
        h = ((const uint16_t *)data)[i];
        return number_real(type == MTF_F16 ? short_float(h, 5, 10) : short_float(h, 8, 7));
    }
}

/* The bits of a number that the short float can hold exactly. */
static uint16_t short_bits(double v, int exponent_bits, int low)
{
    int    bias = (1 << (exponent_bits - 1)) - 1, exponent;
    double a = fabs(v);
    int    sign = signbit(v) ? 0x8000 : 0;
    (void)frexp(a, &exponent);
    if (a == 0 || exponent < 2 - bias) return (uint16_t)(sign | (int)ldexp(a, bias - 1 + low));
    int fraction = (int)ldexp(a, low + 1 - exponent) - (1 << low);
    return (uint16_t)(sign | (exponent - 1 + bias) << low | fraction);
}

void number_store(mtf_dtype type, void *data, int64_t i, double v, int64_t n)
{
    switch (type) {
    case MTF_F64: ((double *)data)[i] = v; break;
    case MTF_F32: ((float *)data)[i] = (float)v; break;
    case MTF_I64: ((int64_t *)data)[i] = n; break;
    case MTF_I32: ((int32_t *)data)[i] = (int32_t)n; break;
    case MTF_BOOL: ((uint8_t *)data)[i] = n != 0; break;
    case MTF_F16: ((uint16_t *)data)[i] = short_bits(v, 5, 10); break;
    default: ((uint16_t *)data)[i] = short_bits(v, 8, 7);
    }
}

/* ---- arithmetic ---- */

static int least_grain(number a, number b)
{
    return a.grain < b.grain ? a.grain : b.grain;
}

number number_add(number a, number b, mtf_dtype type)
{
    if (!number_known(a) || !number_known(b)) return number_unknown();
    if (!is_real(type)) return number_int((int64_t)((uint64_t)a.i + (uint64_t)b.i), type);
    if (isinf(a.v) || isinf(b.v)) return number_real(a.v + b.v);
    return (number){.v = a.v + b.v,
                    .slack = a.slack + b.slack,
                    .mass = a.mass + b.mass,
                    .grain = least_grain(a, b)};
}

number number_neg(number a, mtf_dtype type)
{
    if (!number_known(a)) return a;
    if (!is_real(type)) return number_int((int64_t)(0 - (uint64_t)a.i), type);
    a.v = -a.v;
    return a;
}

number number_sub(number a, number b, mtf_dtype type)
{
    return number_add(a, number_neg(b, type), type);
}

number number_mul(number a, number b, mtf_dtype type)
{
    if (!number_known(a) || !number_known(b)) return number_unknown();
    if (!is_real(type)) return number_int((int64_t)((uint64_t)a.i * (uint64_t)b.i), type);
    if (isinf(a.v) || isinf(b.v))
        return fabs(a.v) <= a.slack || fabs(b.v) <= b.slack ? number_unknown()
                                                            : number_real(a.v * b.v);
    int grain = a.grain == ALL_GRAIN || b.grain == ALL_GRAIN ? ALL_GRAIN : a.grain + b.grain;
    return (number){.v = a.v * b.v,
                    .slack = fabs(a.v) * b.slack + fabs(b.v) * a.slack + a.slack * b.slack,
                    .mass = a.mass * b.mass,
                    .grain = grain > NO_GRAIN ? grain : NO_GRAIN};
}

/* Are the terms, and whatever part of them is added up, exact in a format?  Then so is their sum. */
static bool is_exact(number a, format f)
{
    return a.slack == 0 && (a.mass == 0 || (a.grain >= f.least &&
                                            a.mass <= ldexp(1, f.digits) * ldexp(1, a.grain)));
}

/* The nearest number of a short float; of two the one whose last digit is even. */
static double nearest(double v, format f)
{
    int exponent;
    (void)frexp(v, &exponent);
    int last = exponent - f.digits > f.least ? exponent - f.digits : f.least;
    return ldexp(rint(ldexp(v, -last)), last);
}

/* Adds up in f32, of which no part is stored, and is rounded once. */
static number rounded_short(number a, format f, int64_t terms, bool saturates)
{
    if (!is_exact(a, format_of(MTF_F32)))
        a.slack += ldexp(a.mass * (double)(terms + 4), -24) + ldexp(1, -149);
    if (a.slack > 0)
        a.slack += ldexp(fabs(a.v) + a.slack, -f.digits) + ldexp(1, f.least);
    else
        a.v = nearest(a.v, f);
    if (saturates) a.v = fmax(-f.most, fmin(a.v, f.most));
    a.mass = fabs(a.v) + a.slack;
    a.grain = a.slack > 0 ? NO_GRAIN : grain_of(a.v);
    return a.mass <= f.most || saturates ? a : number_unknown();
}

number number_rounded(number a, mtf_dtype type, int64_t terms)
{
    if (!is_real(type) || !number_known(a) || (isinf(a.v) && !is_f8(type))) return a;
    format f = format_of(type);
    if (f.digits < 24) return rounded_short(a, f, terms, is_f8(type));
    if (!is_exact(a, f)) {
        double stored = ldexp(1, -f.digits), summed = stored < 0x1p-24 ? stored : 0x1p-24;
        a.slack += a.mass * (4 * stored + (double)(terms + 2) * summed) + ldexp(16, f.least);
        a.grain = NO_GRAIN;
        if (a.mass < fabs(a.v)) a.mass = fabs(a.v);
    }
    return a.mass + a.slack <= f.most ? a : number_unknown();
}

number number_perhaps_wide(number a, mtf_dtype type)
{
    if (number_summed_in(type) == type || !number_known(a) || a.mass == 0) return a;
    format f = format_of(type);
    a.slack += ldexp(fabs(a.v) + a.slack, -f.digits) + ldexp(1, f.least);
    return a;
}

number number_made(double v, double slack, bool exact, mtf_dtype type)
{
    number a = number_real(v);
    if (!number_known(a) || !(slack < (double)INFINITY)) return number_unknown();
    if (isinf(v)) return a;
    a.slack = slack;
    if (!exact) {
        format f = format_of(type);
        a.slack += ldexp(fabs(v), 4 - f.digits) + ldexp(1, f.least);
    }
    return number_rounded(a, type, 1);
}

int number_compare(number a, number b, mtf_dtype type)
{
    if (!number_known(a) || !number_known(b)) return 2;
    if (!is_real(type)) return (a.i > b.i) - (a.i < b.i);
    double room = a.slack + b.slack;
    if (room > 0 && fabs(a.v - b.v) <= room) return 2;
    return (a.v > b.v) - (a.v < b.v);
}

bool number_allows(number a, mtf_dtype type, number found)
{
    if (!number_known(a)) return true;
    if (!is_real(type)) return a.i == found.i;
    return number_known(found) && (a.v == found.v || fabs(a.v - found.v) <= a.slack);
}
