/* Converts elements of files to the types of a program. */
#include "data/convert.h"

#include <string.h>

#include "base/dtype.h"
#include "base/numbers.h"

/* ---- the common cases, vectorized ---- */

/* to[i] = from[i] * scale */
static void bytes_to_f32(const uint8_t *restrict from, int64_t n, float scale, float *restrict to)
{
    for (int64_t i = 0; i < n; i++) to[i] = (float)from[i] * scale;
}

static void bytes_to_i32(const uint8_t *restrict from, int64_t n, int32_t *restrict to)
{
    for (int64_t i = 0; i < n; i++) to[i] = from[i];
}

static void u16_to_i32(const uint16_t *restrict from, int64_t n, int32_t *restrict to)
{
    for (int64_t i = 0; i < n; i++) to[i] = from[i];
}

static void f32_to_f32(const float *restrict from, int64_t n, float scale, float *restrict to)
{
    for (int64_t i = 0; i < n; i++) to[i] = from[i] * scale;
}

/* ---- all others, one by one ---- */

/* One element of a file: an integer of up to 64 bits, or any other number. */
typedef struct element {
    bool    whole;
    int64_t i;
    double  r; /* the same as a floating number */
} element;

static element element_of_whole(int64_t i)
{
    return (element){.whole = true, .i = i, .r = (double)i};
}

static element load(raw_type type, const void *from, int64_t i)
{
    switch (type) {
    case RAW_U8: return element_of_whole(((const uint8_t *)from)[i]);
    case RAW_I8: return element_of_whole(((const int8_t *)from)[i]);
    case RAW_U16: return element_of_whole(((const uint16_t *)from)[i]);
    case RAW_I16: return element_of_whole(((const int16_t *)from)[i]);
    case RAW_U32: return element_of_whole(((const uint32_t *)from)[i]);
    case RAW_U64: {
        uint64_t v = ((const uint64_t *)from)[i];
        return v <= INT64_MAX ? element_of_whole((int64_t)v) : (element){.r = (double)v};
    }
    case MTF_I32: return element_of_whole(((const int32_t *)from)[i]);
    case MTF_I64: return element_of_whole(((const int64_t *)from)[i]);
    case MTF_BOOL: return element_of_whole(((const uint8_t *)from)[i] != 0);
    default: return (element){.r = dtype_load((mtf_dtype)type, from, i)};
    }
}

/* Can the type hold x, truncated to a whole number? */
static bool fits(mtf_dtype type, const element *x)
{
    if (type == MTF_I32 && x->whole) return x->i >= INT32_MIN && x->i <= INT32_MAX;
    if (type == MTF_I32) return x->r > INT32_MIN - 1.0 && x->r < INT32_MAX + 1.0;
    if (type == MTF_I64) return x->whole || (x->r >= -0x1p63 && x->r < 0x1p63);
    return true;
}

static void note_misfit(wanted *w, const element *x, int64_t at)
{
    if (*w->misfit) return;
    if (x->whole)
        snprintf(w->misfit, sizeof w->misfit, "%lld", (long long)x->i);
    else
        number_format(w->misfit, sizeof w->misfit, "%.17g", x->r);
    w->misfit_at = at;
}

/* Integers stay exact among integers. */
static void convert_each(raw_type type, const void *from, int64_t n, wanted *w, void *to)
{
    size_t  size = mtf_dtype_bytes(w->type);
    int64_t first = w->begin + ((char *)to - (char *)w->out) / (int64_t)size;
    for (int64_t i = 0; i < n; i++) {
        element x = load(type, from, i);
        if (w->scale != 1) x = (element){.r = x.r * w->scale};
        if (!fits(w->type, &x))
            note_misfit(w, &x, first + i);
        else if (x.whole && w->type == MTF_I64)
            ((int64_t *)to)[i] = x.i;
        else
            dtype_store(w->type, to, i, x.r);
    }
}

/* `from` is aligned. */
static void convert(raw_type type, const void *from, int64_t n, wanted *w, void *to)
{
    if (type == RAW_U8 && w->type == MTF_F32)
        bytes_to_f32(from, n, (float)w->scale, to);
    else if (type == RAW_U8 && w->type == MTF_I32 && w->scale == 1)
        bytes_to_i32(from, n, to);
    else if (type == RAW_U16 && w->type == MTF_I32 && w->scale == 1)
        u16_to_i32(from, n, to);
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
    w->offered_as = type;
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
    } else { /* through aligned memory */
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

int64_t wanted_outside(const wanted *w, double least, double most)
{
    int64_t end = w->end < w->offered ? w->end : w->offered;
    for (int64_t i = w->begin; i < end; i++) {
        double x = dtype_load(w->type, w->out, i - w->begin);
        if (!(x >= least && x <= most)) return i;
    }
    return -1;
}
