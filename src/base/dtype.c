/* Element types: sizes, names, and the short floats. */
#include "base/dtype.h"

#include <math.h>

#include "base/numbers.h"

static const struct {
    const char *name;
    size_t      bytes;
} types[DTYPES] = {
    [MTF_F32] = {"f32", 4},   [MTF_BF16] = {"bf16", 2},     [MTF_F16] = {"f16", 2},
    [MTF_F64] = {"f64", 8},   [MTF_I32] = {"i32", 4},       [MTF_I64] = {"i64", 8},
    [MTF_BOOL] = {"bool", 1}, [MTF_F8E4M3] = {"f8e4m3", 1}, [MTF_F8E5M2] = {"f8e5m2", 1},
};

size_t mtf_dtype_bytes(mtf_dtype type)
{
    return (unsigned)type < DTYPES ? types[type].bytes : 0;
}

const char *mtf_dtype_name(mtf_dtype type)
{
    return (unsigned)type < DTYPES ? types[type].name : "no type";
}

bool dtype_parse(const char *name, mtf_dtype *type)
{
    for (int i = 0; i < DTYPES; i++)
        if (strcmp(types[i].name, name) == 0) {
            *type = (mtf_dtype)i;
            return true;
        }
    return false;
}

bool dtype_is_float(mtf_dtype type)
{
    return type == MTF_F32 || type == MTF_F64 || dtype_is_short(type) || dtype_is_f8(type);
}

bool dtype_is_int(mtf_dtype type)
{
    return type == MTF_I32 || type == MTF_I64;
}

bool dtype_is_f8(mtf_dtype type)
{
    return type == MTF_F8E4M3 || type == MTF_F8E5M2;
}

bool dtype_is_short(mtf_dtype type)
{
    return type == MTF_BF16 || type == MTF_F16;
}

mtf_dtype dtype_compute(mtf_dtype type)
{
    return dtype_is_float(type) && type != MTF_F64 ? MTF_F32 : type;
}

const char *dtype_refuses(mtf_dtype type, double x, char text[DTYPE_REFUSAL])
{
    double stored = 0; /* 8 bytes: room for an element of any type */
    dtype_store(type, &stored, 0, x);
    double back = dtype_load(type, &stored, 0);
    if (dtype_is_float(type) && isfinite(back) == isfinite(x)) return NULL;
    if (back == x && x < 0x1p63) return NULL; /* 2^63 saturates in i64, and rounds back */
    const char *sentence = "%s takes whole numbers in its range, not %.15g";
    if (dtype_is_float(type))
        sentence = "%s has no number as large as %.15g; write inf for infinity";
    if (type == MTF_BOOL) sentence = "a %s is 0 or 1, not %.15g";
    number_format(text, DTYPE_REFUSAL, sentence, mtf_dtype_name(type), x);
    return text;
}

double dtype_load(mtf_dtype type, const void *from, int64_t i)
{
    switch (type) {
    case MTF_F32: return ((const float *)from)[i];
    case MTF_BF16: return bf16_to_f32(((const uint16_t *)from)[i]);
    case MTF_F16: return f16_to_f32(((const uint16_t *)from)[i]);
    case MTF_F64: return ((const double *)from)[i];
    case MTF_I32: return ((const int32_t *)from)[i];
    case MTF_I64: return (double)((const int64_t *)from)[i];
    case MTF_BOOL: return ((const uint8_t *)from)[i];
    case MTF_F8E4M3: return f8e4m3_to_f32(((const uint8_t *)from)[i]);
    case MTF_F8E5M2: return f8e5m2_to_f32(((const uint8_t *)from)[i]);
    }
    return 0;
}

static int64_t saturate(double v, int64_t low, int64_t high)
{
    if (v != v) return 0;
    if (v <= (double)low) return low;
    if (v >= (double)high) return high;
    return (int64_t)v;
}

void dtype_store(mtf_dtype type, void *to, int64_t i, double v)
{
    switch (type) {
    case MTF_F32: ((float *)to)[i] = (float)v; break;
    case MTF_BF16: ((uint16_t *)to)[i] = f32_to_bf16((float)v); break;
    case MTF_F16: ((uint16_t *)to)[i] = f32_to_f16((float)v); break;
    case MTF_F64: ((double *)to)[i] = v; break;
    case MTF_I32: ((int32_t *)to)[i] = (int32_t)saturate(v, INT32_MIN, INT32_MAX); break;
    case MTF_I64: ((int64_t *)to)[i] = saturate(v, INT64_MIN, INT64_MAX); break;
    case MTF_BOOL: ((uint8_t *)to)[i] = v != 0; break;
    case MTF_F8E4M3: ((uint8_t *)to)[i] = f32_to_f8e4m3((float)v); break;
    case MTF_F8E5M2: ((uint8_t *)to)[i] = f32_to_f8e5m2((float)v); break;
    }
}

scalar dtype_scalar(mtf_dtype type, double value)
{
    double element; /* 8 bytes: room for any type */
    dtype_store(type, &element, 0, value);
    if (type == MTF_I64) return (scalar){.whole = saturate(value, INT64_MIN, INT64_MAX)};
    double v = dtype_load(type, &element, 0);
    return dtype_is_float(type) ? (scalar){.real = v} : (scalar){.whole = (int64_t)v};
}

double dtype_real(mtf_dtype type, scalar value)
{
    return dtype_is_float(type) ? value.real : (double)value.whole;
}

void dtype_put(mtf_dtype type, void *to, int64_t i, scalar value)
{
    if (type == MTF_I64)
        ((int64_t *)to)[i] = value.whole;
    else
        dtype_store(type, to, i, dtype_real(type, value));
}

bool dtype_is_zero(mtf_dtype type, scalar value)
{
    return dtype_is_float(type) ? value.real == 0 : value.whole == 0;
}

static void widen(mtf_dtype type, const void *from, float *to, int64_t n)
{
    for (int64_t i = 0; i < n && type == MTF_BF16; i++)
        to[i] = bf16_to_f32(((const uint16_t *)from)[i]);
    for (int64_t i = 0; i < n && type == MTF_F16; i++)
        to[i] = f16_to_f32(((const uint16_t *)from)[i]);
}

static void shorten(mtf_dtype type, const float *from, void *to, int64_t n)
{
    for (int64_t i = 0; i < n && type == MTF_BF16; i++) ((uint16_t *)to)[i] = f32_to_bf16(from[i]);
    for (int64_t i = 0; i < n && type == MTF_F16; i++) ((uint16_t *)to)[i] = f32_to_f16(from[i]);
}

void dtype_convert(mtf_dtype to_type, void *to, mtf_dtype from_type, const void *from,
                   int64_t count)
{
    bool short_to = dtype_is_short(to_type), short_from = dtype_is_short(from_type);
    if (to_type == from_type)
        memcpy(to, from, (size_t)count * mtf_dtype_bytes(to_type));
    else if (short_from && to_type == MTF_F32)
        widen(from_type, from, to, count);
    else if (from_type == MTF_F32 && short_to)
        shorten(to_type, from, to, count);
    else if (from_type == MTF_I64 && to_type == MTF_I32)
        for (int64_t i = 0; i < count; i++) {
            int64_t v = ((const int64_t *)from)[i];
            ((int32_t *)to)[i] = (int32_t)(v < INT32_MIN   ? INT32_MIN
                                           : v > INT32_MAX ? INT32_MAX
                                                           : v);
        }
    else
        for (int64_t i = 0; i < count; i++)
            dtype_store(to_type, to, i, dtype_load(from_type, from, i));
}
