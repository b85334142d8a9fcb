/* Tiles of products whose operands are packed first. */
#include "cpu/packed_tile.h"

#include <string.h>

#include "cpu/arith.h"
#include "cpu/terms_steps.h"

enum {
    PANEL = 12, /* rows of a packed panel of a */
    LINE = 16,  /* floats of a line of the cache */
    FEW = 8     /* rows of b whose pieces are packed together */
};
/* Rows and panels of a, and strips of b, begin a line later each in the ways of a cache. */
enum {
    ROW_DEEP = PACKED_DEEP + LINE,
    PANEL_DEEP = PACKED_DEEP * PANEL + LINE,
    STRIP_DEEP = PACKED_DEEP * TERMS_UNIT + LINE,
    TILE = PACKED_HIGH * PACKED_ROW,
    LEFT = PACKED_HIGH * ROW_DEEP /* not less than PACKED_HIGH / PANEL * PANEL_DEEP */
};

static int64_t strips_of(int64_t wide)
{
    return (wide + TERMS_UNIT - 1) / TERMS_UNIT;
}

/* Elements of one stretch of b. */
static int64_t stretch_elements(int64_t wide)
{
    return strips_of(wide) * STRIP_DEEP;
}

size_t packed_bytes(mtf_dtype type, int64_t wide, int64_t depth)
{
    int64_t stretches = (depth + PACKED_DEEP - 1) / PACKED_DEEP;
    return (size_t)(TILE + LEFT + stretches * stretch_elements(wide)) *
           mtf_dtype_bytes(dtype_compute(type));
}

packed_space packed_space_at(void *at, mtf_dtype type)
{
    size_t bytes = mtf_dtype_bytes(dtype_compute(type));
    char  *left = (char *)at + TILE * bytes;
    return (packed_space){at, left, left + LEFT * bytes};
}

/* ---- packing ---- */

/* A piece of an operand that begins so many rows, columns or terms later. */
static factor later(factor x, int64_t n, int64_t stride)
{
    x.at += n * stride * (int64_t)mtf_dtype_bytes(x.type);
    return x;
}

/* to[down][apart] = x[down][along], where `along` is adjacent in x, in pieces of a constant width where that is
 * all; else a few rows at a time, whose lines stay near while columns pass. */
#define PACK(suffix, element, sum)                                                                 \
    static void pack_##suffix(const factor *x, int64_t down, int64_t along, sum *to,               \
                              int64_t apart)                                                       \
    {                                                                                              \
        const element *from = (const element *)(const void *)x->at;                                \
        if (x->along == 1 && along == PANEL)                                                       \
            for (int64_t i = 0; i < down; i++)                                                     \
                for (int j = 0; j < PANEL; j++)                                                    \
                    to[i * apart + j] = load_##suffix(from[i * x->down + j]);                      \
        else if (x->along == 1)                                                                    \
            for (int64_t i = 0; i < down; i++)                                                     \
                for (int64_t j = 0; j < along; j++)                                                \
                    to[i * apart + j] = load_##suffix(from[i * x->down + j]);                      \
        else                                                                                       \
            for (int64_t i0 = 0; i0 < down; i0 += LINE)                                            \
                for (int64_t j = 0; j < along; j++)                                                \
                    for (int64_t i = i0; i < down && i < i0 + LINE; i++)                           \
                        to[i * apart + j] = load_##suffix(from[i * x->down + j * x->along]);       \
    }
PACK(f32, float, float)
PACK(bf16, uint16_t, float)
PACK(f16, uint16_t, float)
PACK(f64, double, double)

static void pack_short(const factor *x, int64_t down, int64_t along, float *to, int64_t apart)
{
    if (x->type == MTF_BF16)
        pack_bf16(x, down, along, to, apart);
    else if (x->type == MTF_F16)
        pack_f16(x, down, along, to, apart);
    else
        pack_f32(x, down, along, to, apart);
}

/* a as panels of a few rows, each [depth][PANEL]: where its rows are adjacent. */
static void pack_panels(const factor *x, int64_t high, int64_t depth, float *to)
{
    for (int64_t i = 0; i < high; i += PANEL) {
        int64_t some = high - i < PANEL ? high - i : PANEL;
        factor  panel = later(*x, i, x->down);
        int64_t down = panel.down;
        panel.down = panel.along, panel.along = down;
        pack_short(&panel, depth, some, to + i / PANEL * PANEL_DEEP, PANEL);
    }
}

/* Columns [j, j + some) of b as a strip. */
static void pack_strip(const factor *x, int64_t j, int64_t some, int64_t depth, float *to)
{
    factor strip = later(*x, j, x->along);
    pack_short(&strip, depth, some, to, TERMS_UNIT);
    for (int64_t l = 0; l < depth && some < TERMS_UNIT; l++)
        for (int64_t k = some; k < TERMS_UNIT; k++) to[l * TERMS_UNIT + k] = 0;
}

/* b as strips of TERMS_UNIT columns, each [depth][TERMS_UNIT], which stay near while rows of a pass: a few rows of
 * all strips at a time, as they lie in memory. */
static void pack_strips(const factor *x, int64_t wide, int64_t depth, float *to)
{
    int64_t few = x->along == 1 ? FEW : depth;
    for (int64_t l = 0; l < depth; l += few) {
        int64_t rows = depth - l < few ? depth - l : few;
        factor  some = later(*x, l, x->down);
        for (int64_t j = 0; j < wide; j += TERMS_UNIT)
            pack_strip(&some, j, wide - j < TERMS_UNIT ? wide - j : TERMS_UNIT, rows,
                       to + j / TERMS_UNIT * STRIP_DEEP + l * TERMS_UNIT);
    }
}

/* ---- products ---- */

static void stretch_f32(const packed_space *s, factor a, const float *right, int64_t high,
                        int64_t wide, int64_t depth, bool add)
{
    float      *left = s->left, *tile = s->tile;
    bool        panels = a.down == 1 && a.along != 1; /* rows are adjacent, not terms */
    int64_t     together = panels ? PANEL : high, apart = panels ? PANEL_DEEP : 0;
    terms_loop *loop = terms_loop_here();
    terms       t = {.terms = depth,
                     .a_row = panels ? 1 : ROW_DEEP,
                     .a_term = panels ? PANEL : 1,
                     .b_row = TERMS_UNIT,
                     .c_row = PACKED_ROW,
                     .add = add};
    if (panels)
        pack_panels(&a, high, depth, left);
    else
        pack_short(&a, high, depth, left, ROW_DEEP);
    for (int64_t j = 0; j < wide; j += TERMS_UNIT) {
        t.cols = wide - j < TERMS_UNIT ? wide - j : TERMS_UNIT;
        for (int64_t i = 0; i < high; i += together) {
            t.rows = high - i < together ? high - i : together;
            loop(&t, left + i / together * apart, right + j / TERMS_UNIT * STRIP_DEEP,
                 tile + i * PACKED_ROW + j);
        }
    }
}

static void stretch_f64(const packed_space *s, factor a, const double *right, int64_t high,
                        int64_t wide, int64_t depth, bool add)
{
    const double *left = (const double *)(const void *)a.at;
    for (int64_t i = 0; i < high; i++) {
        double sums[PACKED_WIDE] = {0}, *to = (double *)s->tile + i * PACKED_ROW;
        for (int64_t l = 0; l < depth; l++) {
            double x = left[i * a.down + l * a.along];
            for (int64_t j = 0; j < wide; j++) sums[j] += x * right[l * wide + j];
        }
        for (int64_t j = 0; j < wide; j++) to[j] = add ? to[j] + sums[j] : sums[j];
    }
}

void packed_right(const packed_space *s, factor b, int64_t wide, int64_t depth)
{
    for (int64_t l = 0; l < depth; l += PACKED_DEEP) {
        int64_t some = depth - l < PACKED_DEEP ? depth - l : PACKED_DEEP;
        int64_t at = l / PACKED_DEEP * stretch_elements(wide);
        factor  x = later(b, l, b.down);
        if (b.type == MTF_F64)
            pack_f64(&x, some, wide, (double *)s->right + at, wide);
        else
            pack_strips(&x, wide, some, (float *)s->right + at);
    }
}

void packed_multiply(const packed_space *s, factor a, int64_t high, int64_t wide, int64_t depth,
                     bool add)
{
    for (int64_t l = 0; l < depth; l += PACKED_DEEP) {
        int64_t some = depth - l < PACKED_DEEP ? depth - l : PACKED_DEEP;
        int64_t at = l / PACKED_DEEP * stretch_elements(wide);
        factor  x = later(a, l, a.along);
        if (a.type == MTF_F64)
            stretch_f64(s, x, (const double *)s->right + at, high, wide, some, add || l > 0);
        else
            stretch_f32(s, x, (const float *)s->right + at, high, wide, some, add || l > 0);
    }
}

/* ---- results ---- */

#define PUT(suffix, element, sum)                                                                  \
    static void put_##suffix(element *to, int64_t down, int64_t along, int64_t high, int64_t wide, \
                             const sum *tile)                                                      \
    {                                                                                              \
        for (int64_t i = 0; i < high; i++)                                                         \
            for (int64_t j = 0; j < wide; j++)                                                     \
                to[i * down + j * along] = store_##suffix(tile ? tile[i * PACKED_ROW + j] : 0);    \
    }
PUT(f32, float, float)
PUT(bf16, uint16_t, float)
PUT(f16, uint16_t, float)
PUT(f64, double, double)

void packed_put(const packed_space *s, mtf_dtype type, char *to, int64_t down, int64_t along,
                int64_t high, int64_t wide, bool zeros)
{
    void       *at = to;
    const void *tile = zeros ? NULL : s->tile;
    switch (type) {
    case MTF_F64: put_f64(at, down, along, high, wide, tile); break;
    case MTF_BF16: put_bf16(at, down, along, high, wide, tile); break;
    case MTF_F16: put_f16(at, down, along, high, wide, tile); break;
    default: put_f32(at, down, along, high, wide, tile); break;
    }
}
