/* Filters in scratch, transposed or in parts. */
#include "cpu/window_filter.h"

#include <string.h>

enum { TASKS = 64 }; /* enough to keep many cores busy to the end */

static int64_t taps_of(const window_nest *n)
{
    return n->outer_taps * n->row.taps;
}

size_t window_filter_bytes(const window_nest *n)
{
    return (size_t)(taps_of(n) * n->groups * n->chans * n->outs) * mtf_dtype_bytes(n->type);
}

int64_t window_filter_at(const window_nest *n, int64_t tap)
{
    int64_t offset = tap % n->row.taps * n->row.w;
    tap /= n->row.taps;
    for (int k = n->outer - 1; k >= 0; k--) {
        offset += tap % n->dim[k].taps * n->dim[k].w;
        tap /= n->dim[k].taps;
    }
    return offset * (int64_t)mtf_dtype_bytes(n->type);
}

#define TRANSPOSE(suffix, element)                                                                 \
    static void transpose_##suffix(const window_nest *n, const element *w, element *to)            \
    {                                                                                              \
        for (int64_t g = 0; g < n->groups; g++)                                                    \
            for (int64_t m = 0; m < n->outs; m++)                                                  \
                for (int64_t c = 0; c < n->chans; c++)                                             \
                    *to++ = w[c * n->w_chan + (g * n->outs + m) * n->w_out];                       \
    }
TRANSPOSE(f32, float)
TRANSPOSE(f64, double)

void window_filter_transpose(const window_nest *n, char *to)
{
    int64_t taps = taps_of(n), each = (int64_t)window_filter_bytes(n) / taps;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(n->threads) if (n->threads > 1 && !n->alone)
#endif
    for (int64_t tap = 0; tap < taps; tap++) {
        char *w = n->w + window_filter_at(n, tap), *transposed = to + tap * each;
        if (n->type == MTF_F32)
            transpose_f32(n, (float *)(void *)w, (float *)(void *)transposed);
        else
            transpose_f64(n, (double *)(void *)w, (double *)(void *)transposed);
    }
}

int64_t window_filter_parts(const window_nest *n, int64_t tasks, int64_t most)
{
    int64_t parts = n->large ? TASKS / tasks : 1;
    if (parts > most) parts = most;
    return parts < 1 ? 1 : parts;
}

window_nest window_filter_part(const window_nest *n, char *parts, int64_t k)
{
    window_nest p = *n;
    p.w = parts + k * (int64_t)window_filter_bytes(n);
    p.w_out = 1;
    p.w_chan = n->groups * n->outs;
    p.row.w = p.w_chan * n->chans;
    int64_t stride = p.row.w * p.row.taps;
    for (int d = n->outer - 1; d >= 0; d--) {
        p.dim[d].w = stride;
        stride *= p.dim[d].taps;
    }
    return p;
}

/* w = the sum of row `row` of all parts, which lie `apart` elements from one another. */
#define SUM_ROW(suffix, element)                                                                   \
    static void sum_row_##suffix(element *w, int64_t length, const element *part, int64_t apart,   \
                                 int64_t count)                                                    \
    {                                                                                              \
        memcpy(w, part, (size_t)length * sizeof(element));                                         \
        for (int64_t k = 1; k < count; k++)                                                        \
            for (int64_t i = 0; i < length; i++) w[i] += part[k * apart + i];                      \
    }
SUM_ROW(f32, float)
SUM_ROW(f64, double)

void window_filter_sum(const window_nest *n, const char *parts, int64_t count)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(n->type), length = n->groups * n->outs;
    int64_t apart = (int64_t)window_filter_bytes(n) / bytes, rows = taps_of(n) * n->chans;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(n->threads) if (n->threads > 1 && !n->alone)
#endif
    for (int64_t row = 0; row < rows; row++) {
        char *w = n->w + window_filter_at(n, row / n->chans) + row % n->chans * n->w_chan * bytes;
        const char *part = parts + row * length * bytes;
        if (n->type == MTF_F32)
            sum_row_f32((float *)(void *)w, length, (const float *)(const void *)part, apart,
                        count);
        else
            sum_row_f64((double *)(void *)w, length, (const double *)(const void *)part, apart,
                        count);
    }
}
