/* Products whose rows are in groups.
 *
 *     c[b.., row, n] = sum over k of a[b.., row, k] * b[b.., group of row, n, k]
 *     c[b.., g, n, k] = sum over b.. and the rows of g of a[b.., row, k] * b[b.., row, n]
 *
 * Both are tiles: a few rows of the result by a strip of columns, summed over stretches of terms whose
 * bounds do not depend on the groups.  So a row of the first form is summed alike wherever it is.
 * Sums are f32, or f64 for f64; a strip of b is packed, and so is a tile of a in short floats.
 */
#include "base/whole.h"
#include "cpu/arith.h"
#include "cpu/terms_steps.h"
#include "cpu/walk.h"

enum {
    TILE_HIGH = 256,
    TILE_WIDE = 2 * TERMS_UNIT,
    TILE_DEEP = 256,
    PANEL = 8,  /* rows of a packed panel of a */
    LINE = 16,  /* floats of a line of the cache */
    CHUNK = 512 /* rows of a task */
};
/* Panels of a lie a line apart in the ways of a cache. */
enum { PANEL_DEEP = TILE_DEEP * PANEL + 16 };

/* A matrix of one operand: where it begins, and its strides. */
typedef struct factor {
    const char *at;
    mtf_dtype   type;
    int64_t     down, along;
} factor;

/* Working space of a thread, in floats or doubles. */
typedef struct space {
    void *tile, *left, *right; /* [high][wide]; panels of a, or [high][deep]; [deep][wide] */
} space;

enum {
    SPACE_ELEMENTS = TILE_HIGH * TILE_WIDE + TILE_HIGH / PANEL * PANEL_DEEP + TILE_DEEP * TILE_WIDE
};

static size_t sum_bytes(mtf_dtype type)
{
    return mtf_dtype_bytes(dtype_compute(type));
}

size_t grouped_scratch_bytes(const instr *i)
{
    return SPACE_ELEMENTS * sum_bytes(i->in[0].type);
}

static space space_of(const instr *i, const run_state *r, int part)
{
    size_t bytes = sum_bytes(i->in[0].type);
    char  *at = (char *)r->scratch + (size_t)part * SPACE_ELEMENTS * bytes;
    char  *left = at + TILE_HIGH * TILE_WIDE * bytes;
    return (space){at, left, left + TILE_HIGH / PANEL * PANEL_DEEP * bytes};
}

/* ---- tiles -------------------------------------------------------------------------------- */

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
        factor  panel = *x;
        panel.at += i * x->down * (int64_t)mtf_dtype_bytes(x->type);
        int64_t down = panel.down;
        panel.down = panel.along, panel.along = down;
        pack_short(&panel, depth, some, to + i / PANEL * PANEL_DEEP, PANEL);
    }
}

/* b as strips of TERMS_UNIT columns, each [depth][TERMS_UNIT], which stay near while rows of a pass. */
static void pack_strips(const factor *x, int64_t wide, int64_t depth, float *to)
{
    for (int64_t j = 0; j < wide; j += TERMS_UNIT) {
        int64_t some = wide - j < TERMS_UNIT ? wide - j : TERMS_UNIT;
        factor  strip = *x;
        float  *at = to + j * TILE_DEEP;
        strip.at += j * x->along * (int64_t)mtf_dtype_bytes(x->type);
        pack_short(&strip, depth, some, at, TERMS_UNIT);
        for (int64_t l = 0; l < depth && some < TERMS_UNIT; l++)
            for (int64_t k = some; k < TERMS_UNIT; k++) at[l * TERMS_UNIT + k] = 0;
    }
}

/* tile = or += the products of `terms` columns of a with as many rows of b. */
static void tile_f32(const space *s, factor a, factor b, int64_t high, int64_t wide, int64_t depth,
                     bool add)
{
    float      *left = s->left, *right = s->right, *tile = s->tile;
    terms_loop *loop = terms_loop_here();
    bool        panels = a.down == 1 && a.along != 1, direct = a.type == MTF_F32 && !panels;
    pack_strips(&b, wide, depth, right);
    if (panels)
        pack_panels(&a, high, depth, left);
    else if (!direct)
        pack_short(&a, high, depth, left, TILE_DEEP);
    terms t = {.rows = high,
               .terms = depth,
               .a_row = panels   ? 1
                        : direct ? a.down
                                 : TILE_DEEP,
               .a_term = panels   ? PANEL
                         : direct ? a.along
                                  : 1,
               .b_row = TERMS_UNIT,
               .c_row = TILE_WIDE,
               .add = add};
    for (int64_t j = 0; j < wide; j += TERMS_UNIT) {
        t.cols = wide - j < TERMS_UNIT ? wide - j : TERMS_UNIT;
        for (int64_t i = 0; i < high && panels; i += PANEL) {
            t.rows = high - i < PANEL ? high - i : PANEL;
            loop(&t, left + i / PANEL * PANEL_DEEP, right + j * TILE_DEEP,
                 tile + i * TILE_WIDE + j);
        }
        if (!panels)
            loop(&t, direct ? (const float *)(const void *)a.at : left, right + j * TILE_DEEP,
                 tile + j);
    }
}

static void tile_f64(const space *s, factor a, factor b, int64_t high, int64_t wide, int64_t depth,
                     bool add)
{
    double       *right = s->right;
    const double *left = (const double *)(const void *)a.at;
    pack_f64(&b, depth, wide, right, TILE_WIDE);
    for (int64_t i = 0; i < high; i++) {
        double sums[TILE_WIDE] = {0}, *to = (double *)s->tile + i * TILE_WIDE;
        for (int64_t l = 0; l < depth; l++) {
            double x = left[i * a.down + l * a.along];
            for (int64_t j = 0; j < wide; j++) sums[j] += x * right[l * TILE_WIDE + j];
        }
        for (int64_t j = 0; j < wide; j++) to[j] = add ? to[j] + sums[j] : sums[j];
    }
}

/* The same for any number of terms. */
static void add_terms(const space *s, factor a, factor b, int64_t high, int64_t wide, int64_t depth,
                      bool add)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(a.type);
    for (int64_t l = 0; l < depth; l += TILE_DEEP) {
        int64_t some = depth - l < TILE_DEEP ? depth - l : TILE_DEEP;
        factor  x = a, y = b;
        x.at += l * a.along * bytes;
        y.at += l * b.down * bytes;
        (a.type == MTF_F64 ? tile_f64 : tile_f32)(s, x, y, high, wide, some, add || l > 0);
    }
}

/* ---- results ---- */

#define PUT(suffix, element, sum)                                                                  \
    static void put_##suffix(element *to, int64_t down, int64_t along, int64_t high, int64_t wide, \
                             const sum *tile)                                                      \
    {                                                                                              \
        for (int64_t i = 0; i < high; i++)                                                         \
            for (int64_t j = 0; j < wide; j++)                                                     \
                to[i * down + j * along] = store_##suffix(tile ? tile[i * TILE_WIDE + j] : 0);     \
    }
PUT(f32, float, float)
PUT(bf16, uint16_t, float)
PUT(f16, uint16_t, float)
PUT(f64, double, double)

/* Writes a tile, or zeros. */
static void put(mtf_dtype type, char *to, int64_t down, int64_t along, int64_t high, int64_t wide,
                const void *tile)
{
    void *at = to;
    switch (type) {
    case MTF_F64: put_f64(at, down, along, high, wide, tile); break;
    case MTF_BF16: put_bf16(at, down, along, high, wide, tile); break;
    case MTF_F16: put_f16(at, down, along, high, wide, tile); break;
    default: put_f32(at, down, along, high, wide, tile); break;
    }
}

/* ---- groups ---- */

/* The instruction's last three loops, and where its operands begin. */
typedef struct grouped {
    const instr     *i;
    const run_state *r;
    int              row; /* loops row, row + 1, row + 2: the rows, n, k */
    int64_t          rows, n, k;
} grouped;

static char *place(const grouped *g, const access *x, int64_t offset)
{
    return operand(g->r, x) + offset * (int64_t)mtf_dtype_bytes(x->type);
}

static int64_t stride(const grouped *g, const access *x, int loop)
{
    return x->stride[g->row + loop];
}

/* Whatever ends hold: where group number `group` ends, given where the one before does, as rows of
 * this part. */
static int64_t end_of(const grouped *g, const int32_t *ends, int64_t group, int64_t begin)
{
    const grouped_args *how = &g->i->grouped;
    int64_t             end = (int64_t)ends[group * how->ends_stride] - how->first_row;
    if (end > g->rows) end = g->rows;
    return end > begin ? end : begin;
}

/* The rows of this part before its first group. */
static int64_t skipped(const grouped *g, const int32_t *ends)
{
    int64_t end = 0;
    for (int64_t group = 0; group < g->i->grouped.first_group; group++)
        end = end_of(g, ends, group, end);
    return end;
}

/* ---- products by group -------------------------------------------------------------------- */

/* Columns [column, column + wide) of rows [row, end), which are of one group: -1, of none. */
static void multiply_rows(const grouped *g, const space *s, const walk *w, int64_t group,
                          int64_t row, int64_t end, int64_t column, int64_t wide)
{
    const access *a = &g->i->in[0], *b = &g->i->in[1], *c = &g->i->out[0];
    int64_t       a_at = walk_offset(w, a), c_at = walk_offset(w, c) + column * stride(g, c, 1);
    int64_t       b_at =
        walk_offset(w, b) + group * g->i->grouped.group_stride + column * stride(g, b, 1);
    for (int64_t high; row < end; row += high) {
        high = end - row < TILE_HIGH ? end - row : TILE_HIGH;
        if (group >= 0)
            add_terms(s,
                      (factor){place(g, a, a_at + row * stride(g, a, 0)), a->type, stride(g, a, 0),
                               stride(g, a, 2)},
                      (factor){place(g, b, b_at), b->type, stride(g, b, 2), stride(g, b, 1)}, high,
                      wide, g->k, false);
        put(c->type, place(g, c, c_at + row * stride(g, c, 0)), stride(g, c, 0), stride(g, c, 1),
            high, wide, group >= 0 ? s->tile : NULL);
    }
}

/* Rows [first, last): group by group, then those of none. */
static void multiply_chunk(const grouped *g, const space *s, const walk *w, int64_t first,
                           int64_t last, int64_t column, int64_t wide)
{
    const access  *x = &g->i->in[2];
    const int32_t *ends = (const int32_t *)(const void *)place(g, x, walk_offset(w, x));
    int64_t        end = skipped(g, ends), row = first;
    if (row < end) {
        int64_t before = end < last ? end : last;
        multiply_rows(g, s, w, -1, row, before, column, wide);
        row = before;
    }
    for (int64_t group = 0; group < g->i->grouped.groups && row < last; group++) {
        end = end_of(g, ends, g->i->grouped.first_group + group, end);
        if (end <= row) continue;
        int64_t here = end < last ? end : last;
        multiply_rows(g, s, w, group, row, here, column, wide);
        row = here;
    }
    multiply_rows(g, s, w, -1, row, last, column, wide);
}

static void run_products(const grouped *g, const nest *batch, int64_t task, const space *s)
{
    int64_t strips = ceil_div(g->n, TILE_WIDE), chunks = ceil_div(g->rows, CHUNK);
    int64_t column = task % strips * TILE_WIDE, row = task / strips % chunks * CHUNK;
    walk    w = walk_at(batch, task / strips / chunks, 1);
    multiply_chunk(g, s, &w, row, g->rows - row < CHUNK ? g->rows : row + CHUNK, column,
                   g->n - column < TILE_WIDE ? g->n - column : TILE_WIDE);
}

/* ---- sums of groups ----------------------------------------------------------------------- */

/* Adds the rows of a group in one element of the summed loops; returns whether there were any. */
static bool add_group(const grouped *g, const space *s, const walk *kept, const walk *summed,
                      int64_t group, int64_t k, int64_t high, int64_t column, int64_t wide,
                      bool add)
{
    const access  *a = &g->i->in[0], *b = &g->i->in[1], *x = &g->i->in[2];
    int64_t        ends_at = walk_offset(kept, x) + walk_offset(summed, x);
    const int32_t *ends = (const int32_t *)(const void *)place(g, x, ends_at);
    int64_t        row = skipped(g, ends), end = row;
    for (int64_t other = 0; other <= group; other++) {
        row = end;
        end = end_of(g, ends, g->i->grouped.first_group + other, row);
    }
    if (row == end) return false;
    int64_t a_at = walk_offset(kept, a) + walk_offset(summed, a) + row * stride(g, a, 0);
    int64_t b_at = walk_offset(kept, b) + walk_offset(summed, b) + row * stride(g, b, 0);
    add_terms(s,
              (factor){place(g, a, a_at + k * stride(g, a, 2)), a->type, stride(g, a, 2),
                       stride(g, a, 0)},
              (factor){place(g, b, b_at + column * stride(g, b, 1)), b->type, stride(g, b, 0),
                       stride(g, b, 1)},
              high, wide, end - row, add);
    return true;
}

static void run_sums(const grouped *g, const nest *batch, const nest *summed, int64_t task,
                     const space *s)
{
    const access *c = &g->i->out[0];
    int64_t       strips = ceil_div(g->n, TILE_WIDE), blocks = ceil_div(g->k, TILE_HIGH);
    int64_t       column = task % strips * TILE_WIDE, k = task / strips % blocks * TILE_HIGH;
    int64_t       group = task / strips / blocks % g->i->grouped.groups;
    int64_t       high = g->k - k < TILE_HIGH ? g->k - k : TILE_HIGH;
    int64_t       wide = g->n - column < TILE_WIDE ? g->n - column : TILE_WIDE;
    walk          kept = walk_at(batch, task / strips / blocks / g->i->grouped.groups, 1);
    bool          some = false;
    for (int64_t e = 0; e < summed->elements; e++) {
        walk w = walk_at(summed, e, 1);
        some = add_group(g, s, &kept, &w, group, k, high, column, wide, some) || some;
    }
    int64_t at = walk_offset(&kept, c) + group * g->i->grouped.group_stride;
    put(c->type, place(g, c, at + k * stride(g, c, 2) + column * stride(g, c, 1)), stride(g, c, 2),
        stride(g, c, 1), high, wide, some ? s->tile : NULL);
}

/* ---- both --------------------------------------------------------------------------------- */

void kernel_grouped(const instr *i, const run_state *r)
{
    int      row = i->nloops - 3;
    grouped  g = {i, r, row, i->size[row], i->size[row + 1], i->size[row + 2]};
    uint32_t adds = 0;
    for (int l = 0; l < row && i->grouped.sums; l++)
        if (i->out[0].stride[l] == 0) adds |= (uint32_t)1 << l;
    const nest batch = nest_of(i, loops_between(0, row) & ~adds, NULL, 0),
               summed = nest_of(i, adds, NULL, 0);
    int64_t elements = instr_elements(i);
    int64_t tasks =
        batch.elements * ceil_div(g.n, TILE_WIDE) *
        (i->grouped.sums ? i->grouped.groups * ceil_div(g.k, TILE_HIGH) : ceil_div(g.rows, CHUNK));
    int parts = work_parts(r, elements, tasks);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++) {
        space   s = space_of(i, r, part);
        int64_t first = tasks * part / parts, end = tasks * (part + 1) / parts;
        for (int64_t task = first; task < end; task++)
            if (i->grouped.sums)
                run_sums(&g, &batch, &summed, task, &s);
            else
                run_products(&g, &batch, task, &s);
        /* All rows count, as in the plan: only a run knows which are in a group here. */
        if (part == 0) report_flops(r, 2 * elements);
    }
}
