/* Matrix products, computed plainly. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host_products.h"

/* ---- numbers ---- */

static float f32_of_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint32_t bits_of_f32(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static float widen_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, rest = h & 1023;
    if (exponent == 31) return f32_of_bits(sign | 0x7f800000u | rest << 13);
    float size =
        exponent ? f32_of_bits((exponent + 112) << 23 | rest << 13) : (float)rest * 0x1p-24f;
    return f32_of_bits(sign | bits_of_f32(size));
}

/* `low` digits of a fraction; only e5m2 has infinity. */
static double widen_f8(uint8_t h, int low, int bias)
{
    int    most = 127 >> low, exponent = h >> low & most, rest = h & ((1 << low) - 1);
    double size = exponent ? ldexp((1 << low) + rest, exponent - bias - low)
                           : ldexp(rest, 1 - bias - low);
    if (low == 2 && exponent == most) size = rest ? (double)NAN : (double)INFINITY;
    if (low == 3 && (h & 127) == 127) size = (double)NAN;
    return h & 128 ? -size : size;
}

/* To the nearest, of two equally near ones to the even one. */
static uint16_t narrow_f16(float v)
{
    uint32_t bits = bits_of_f32(v), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00);
    if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00);
    if (size < 0x38800000u) { /* adding 0.5 leaves a multiple of 2^-24 in the last bits */
        uint32_t small = bits_of_f32(f32_of_bits(size) + 0.5f) - bits_of_f32(0.5f);
        return (uint16_t)(sign | small);
    }
    size += 0xfffu + (size >> 13 & 1);
    return (uint16_t)(sign | (size - (112u << 23)) >> 13);
}

static uint16_t narrow_bf16(float v)
{
    uint32_t bits = bits_of_f32(v);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* Ten bits of a fraction are left, to the nearest, of two equally near ones the larger. */
static float round_tf32(float v)
{
    uint32_t bits = bits_of_f32(v);
    if ((bits & 0x7f800000u) == 0x7f800000u) return v;
    return f32_of_bits((bits + 0x1000u) & ~0x1fffu);
}

static double get(const void *from, cudaDataType type, int64_t at)
{
    switch (type) {
    case CUDA_R_64F: return ((const double *)from)[at];
    case CUDA_R_16F: return (double)widen_f16(((const uint16_t *)from)[at]);
    case CUDA_R_8F_E4M3: return widen_f8(((const uint8_t *)from)[at], 3, 7);
    case CUDA_R_8F_E5M2: return widen_f8(((const uint8_t *)from)[at], 2, 15);
    case CUDA_R_16BF: return (double)f32_of_bits((uint32_t)((const uint16_t *)from)[at] << 16);
    default: return (double)((const float *)from)[at];
    }
}

static void put(void *to, cudaDataType type, int64_t at, double v)
{
    switch (type) {
    case CUDA_R_64F: ((double *)to)[at] = v; break;
    case CUDA_R_16F: ((uint16_t *)to)[at] = narrow_f16((float)v); break;
    case CUDA_R_16BF: ((uint16_t *)to)[at] = narrow_bf16((float)v); break;
    default: ((float *)to)[at] = (float)v;
    }
}

/* ---- products ---- */

/* op(X) with adjacent columns. */
static double *unpack(const host_layout *x, cublasOperation_t op, const void *from, int64_t batch,
                      bool tf32)
{
    int64_t rows = (int64_t)x->rows, columns = (int64_t)x->columns;
    double *to = malloc(sizeof *to * (size_t)(rows * columns));
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i++) {
            double v = get(from, x->type, batch * x->batch_stride + j * x->leading + i);
            if (tf32) v = (double)round_tf32((float)v);
            to[op == CUBLAS_OP_N ? j * rows + i : i * columns + j] = v;
        }
    return to;
}

/* Adds terms `begin` to `end` of one column of the result, with the roundings of f32 or f64. */
static void add_terms(int64_t m, int64_t begin, int64_t end, const double *a, const double *b,
                      bool wide, double *sum)
{
    for (int64_t k = begin; k < end; k++)
        if (wide)
            for (int64_t i = 0; i < m; i++) sum[i] += a[k * m + i] * b[k];
        else
            for (int64_t i = 0; i < m; i++) sum[i] = (double)(float)(sum[i] + a[k * m + i] * b[k]);
}

static void multiply_one(const host_multiply *w, int64_t batch)
{
    bool    wide = w->how.compute == CUBLAS_COMPUTE_64F;
    bool    tf32 = w->how.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    int64_t m = (int64_t)w->d.rows, n = (int64_t)w->d.columns;
    int64_t terms = (int64_t)(w->how.op_a == CUBLAS_OP_N ? w->a.columns : w->a.rows);
    double *a = unpack(&w->a, w->how.op_a, w->from_a, batch, tf32);
    double *b = unpack(&w->b, w->how.op_b, w->from_b, batch, tf32);
    double *sum = malloc(sizeof *sum * (size_t)m * 2), *part = sum + m;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < m; i++) sum[i] = 0;
        for (int p = 0; p < w->parts; p++) {
            for (int64_t i = 0; i < m; i++) part[i] = 0;
            add_terms(m, terms * p / w->parts, terms * (p + 1) / w->parts, a, b + j * terms, wide,
                      part);
            for (int64_t i = 0; i < m; i++)
                sum[i] = wide ? sum[i] + part[i] : (double)(float)(sum[i] + part[i]);
        }
        for (int64_t i = 0; i < m; i++) {
            int64_t at = batch * w->c.batch_stride + j * w->c.leading + i;
            /* where beta is 0, C is not read: it may hold anything */
            double v = w->alpha * sum[i];
            if (w->beta != 0) v += w->beta * get(w->from_c, w->c.type, at);
            put(w->to_d, w->d.type, batch * w->d.batch_stride + j * w->d.leading + i, v);
        }
    }
    free(a);
    free(b);
    free(sum);
}

void host_multiply_now(const void *multiply)
{
    const host_multiply *w = multiply;
    /* What a card leaves in working space is of no use to anybody. */
    if (w->workspace_bytes) memset(w->workspace, 0xfb, w->workspace_bytes);
    for (int32_t batch = 0; batch < w->d.batches; batch++) multiply_one(w, batch);
}
