/* Elements as files have them, made into those of a program. */
#include "data/convert.h"

#include <string.h>

#include "base/dtype.h"

size_t raw_bytes(raw_type type)
{
    return type == RAW_BYTES ? 1 : mtf_dtype_bytes((mtf_dtype)type);
}

/* ---- the common cases, in vectors ---- */

/* to[i] = from[i] * scale */
static void bytes_to_f32(const uint8_t *restrict from, int64_t n, float scale, float *restrict to)
{
    for (int64_t i = 0; i < n; i++) to[i] = (float)from[i] * scale;
}

static void bytes_to_i32(const uint8_t *restrict from, int64_t n, int32_t *restrict to)
{
    for (int64_t i = 0; i < n; i++) to[i] = from[i];
}

static void f32_to_f32(const float *restrict from, int64_t n, float scale, float *restrict to)
{
    for (int64_t i = 0; i < n; i++) to[i] = from[i] * scale;
}

/* ---- all others, one by one ---- */

static bool is_whole(raw_type type)
{
    return type == RAW_BYTES || type == MTF_BOOL || dtype_is_int((mtf_dtype)type);
}

static int64_t load_whole(raw_type type, const void *from, int64_t i)
{
    if (type == MTF_I64) return ((const int64_t *)from)[i];
    if (type == MTF_I32) return ((const int32_t *)from)[i];
    return ((const uint8_t *)from)[i];
}

/* Whole numbers stay exact between whole types; what does not fit becomes the nearest that does. */
static void store_whole(mtf_dtype type, void *to, int64_t i, int64_t v)
{
    if (type == MTF_I64)
        ((int64_t *)to)[i] = v;
    else
        dtype_store(type, to, i, (double)v);
}

static double load_number(raw_type type, const void *from, int64_t i)
{
    return type == RAW_BYTES ? ((const uint8_t *)from)[i] : dtype_load((mtf_dtype)type, from, i);
}

static void convert_each(raw_type type, const void *from, int64_t n, const wanted *w, void *to)
{
    if (is_whole(type) && is_whole((raw_type)w->type) && w->scale == 1)
        for (int64_t i = 0; i < n; i++) store_whole(w->type, to, i, load_whole(type, from, i));
    else
        for (int64_t i = 0; i < n; i++)
            dtype_store(w->type, to, i, load_number(type, from, i) * w->scale);
}

/* `from` is aligned. */
static void convert(raw_type type, const void *from, int64_t n, const wanted *w, void *to)
{
    if (type == RAW_BYTES && w->type == MTF_F32)
        bytes_to_f32(from, n, (float)w->scale, to);
    else if (type == RAW_BYTES && w->type == MTF_I32 && w->scale == 1)
        bytes_to_i32(from, n, to);
    else if (type == MTF_F32 && w->type == MTF_F32)
        f32_to_f32(from, n, (float)w->scale, to);
    else
        convert_each(type, from, n, w, to);
}

/* ---- offering ---- */

void offer(wanted *w, raw_type type, const void *from, int64_t count)
{
    int64_t here = w->offered;
    w->offered += count;
    int64_t begin = w->begin > here ? w->begin : here;
    int64_t end = w->end < w->offered ? w->end : w->offered;
    size_t  size = raw_bytes(type), to_size = mtf_dtype_bytes(w->type);
    if (begin >= end) return;
    const char *first = (const char *)from + (size_t)(begin - here) * size;
    char       *to = (char *)w->out + (size_t)(begin - w->begin) * to_size;
    if (size == 1) {
        convert(type, first, end - begin, w, to);
    } else if (type == (raw_type)w->type && w->scale == 1) {
        memcpy(to, first, (size_t)(end - begin) * size);
    } else { /* by way of aligned memory */
        _Alignas(8) char staged[2048];
        int64_t          most = (int64_t)(sizeof staged / size);
        for (int64_t done = 0, n; done < end - begin; done += n) {
            n = end - begin - done < most ? end - begin - done : most;
            memcpy(staged, first + (size_t)done * size, (size_t)n * size);
            convert(type, staged, n, w, to + (size_t)done * to_size);
        }
    }
}

void offer_zeros(wanted *w)
{
    int64_t begin = w->begin > w->offered ? w->begin : w->offered;
    if (begin >= w->end) return;
    size_t size = mtf_dtype_bytes(w->type);
    memset((char *)w->out + (size_t)(begin - w->begin) * size, 0, (size_t)(w->end - begin) * size);
}
