/* Matrix products, computed plainly. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    double size =
        exponent ? ldexp((1 << low) + rest, exponent - bias - low) : ldexp(rest, 1 - bias - low);
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

/* ---- epilogues ---- */

/* What is stored for one element, in f32. */
static double after(const host_multiply *w, int64_t i, int64_t j, double v)
{
    uint32_t e = w->how.epilogue;
    int64_t  at = j * w->how.aux_leading + i;
    if (e == CUBLASLT_EPILOGUE_DEFAULT) return v;
    if (e == CUBLASLT_EPILOGUE_BIAS || e == CUBLASLT_EPILOGUE_RELU_BIAS ||
        e == CUBLASLT_EPILOGUE_GELU_BIAS || e == CUBLASLT_EPILOGUE_GELU_AUX_BIAS)
        v = (double)(float)(v + get(w->how.bias, w->d.type, i));
    if (e == CUBLASLT_EPILOGUE_GELU_AUX || e == CUBLASLT_EPILOGUE_GELU_AUX_BIAS)
        put(w->how.aux, w->d.type, at, v);
    const double root = 0.79788456080286535588, cube = 0.044715;
    if (e == CUBLASLT_EPILOGUE_RELU || e == CUBLASLT_EPILOGUE_RELU_BIAS) return v < 0 ? 0 : v;
    if (e == CUBLASLT_EPILOGUE_DGELU || e == CUBLASLT_EPILOGUE_DGELU_BGRAD) {
        double x = get(w->how.aux, w->d.type, at), t = tanh(root * (x + cube * x * x * x));
        return v * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * cube * x * x));
    }
    if (e & CUBLASLT_EPILOGUE_GELU) return v * 0.5 * (1 + tanh(root * (v + cube * v * v * v)));
    return v;
}

/* Sums of rows or columns of what has been multiplied, in f32. */
static void put_totals(const host_multiply *w, const double *a, const double *b)
{
    uint32_t e = w->how.epilogue;
    int64_t  m = (int64_t)w->d.rows, n = (int64_t)w->d.columns;
    int64_t  terms = (int64_t)(w->how.op_a == CUBLAS_OP_N ? w->a.columns : w->a.rows);
    bool     of_a = e == CUBLASLT_EPILOGUE_BGRADA, of_b = e == CUBLASLT_EPILOGUE_BGRADB;
    if (!of_a && !of_b && e != CUBLASLT_EPILOGUE_DGELU_BGRAD) return;
    for (int64_t i = 0; i < (of_b ? n : m); i++) {
        float sum = 0;
        for (int64_t k = 0; k < (of_a || of_b ? terms : n); k++)
            sum += (float)(of_a   ? a[k * m + i]
                           : of_b ? b[i * terms + k]
                                  : get(w->to_d, w->d.type, k * w->d.leading + i));
        put(w->how.bias, w->d.type, i, (double)sum);
    }
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
            v = after(w, i, j, v);
            put(w->to_d, w->d.type, batch * w->d.batch_stride + j * w->d.leading + i, v);
        }
    }
    put_totals(w, a, b);
    free(a);
    free(b);
    free(sum);
}

void host_multiply_now(const void *multiply)
{
    const host_multiply *w = multiply;
    /* What a GPU leaves in working space is of no use to anybody. */
    if (w->workspace_bytes) memset(w->workspace, 0xfb, w->workspace_bytes);
    if (w->how.epilogue != CUBLASLT_EPILOGUE_DEFAULT && getenv("MTF_HOST_CUDA_SLOW"))
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    for (int32_t batch = 0; batch < w->d.batches; batch++) multiply_one(w, batch);
}
