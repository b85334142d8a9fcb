/* Convolution as matrix products, one per tap and row.
 *
 * No patches are copied: the inputs that one tap uses for a row of outputs are
 * themselves a matrix, [position, channel], whose rows lie `step` inputs apart.
 * Each tap adds its product to the result, without the positions whose input
 * lies in the padding.  The products depend on the sizes only, so the number of
 * threads cannot change a bit.
 */
#include <string.h>

#include "base/whole.h"
#include "cpu/matrix.h"
#include "cpu/window_filter.h"
#include "cpu/contract_way.h"

enum {
    LEAST_ROWS = 4,    /* the least rows in a part of the filter's gradient */
    SEGMENT = 256,     /* the most positions of a row in one product */
    ROWS_AT_ONCE = 16, /* rows to which one tap's filter is applied in turn */
    TILE = 128,        /* channels and outputs in one product of a filter */
    FEW_TERMS = 8,     /* fewer channels to sum are not worth a product */
    FEW_PAIRS = 16     /* nor are fewer pairs of channel and output */
};

/* The operands as matrices; only the number of rows differs between products. */
static bool matrices(const window_nest *n, matrix *x, matrix *w, matrix *y)
{
    int64_t few = n->row.in < n->row.out ? n->row.in : n->row.out;
    bool    lines = (n->x_chan == 1 || n->groups * n->chans == 1) &&
                 (n->w_out == 1 || n->groups * n->outs == 1) &&
                 (n->y_out == 1 || n->groups * n->outs == 1);
    return lines && matrix_rows(few, n->chans, n->row.step * n->row.x, 1, &x->ld) &&
           matrix_rows(n->chans, n->outs, n->w_chan, 1, &w->ld) &&
           matrix_rows(n->row.out, n->outs, n->row.y, 1, &y->ld);
}

bool window_blas_can(const window_nest *n)
{
    matrix  x, w, y;
    int64_t terms = n->kind == WINDOW_INPUT ? n->outs : n->chans;
    if (n->type != MTF_F32 && n->type != MTF_F64) return false;
    if (n->chans * n->outs < FEW_PAIRS) return false;
    if (n->kind != WINDOW_FILTER && terms < FEW_TERMS) return false;
    return matrices(n, &x, &w, &y);
}

/* A part of one row of the result: x or y, positions [first, end). */
typedef struct segment {
    int64_t      row;
    window_range at;
} segment;

static segment segment_at(int64_t unit, int64_t length)
{
    int64_t per_row = ceil_div(length, SEGMENT), first = unit % per_row * SEGMENT;
    return (segment){unit / per_row, {first, length - first < SEGMENT ? length : first + SEGMENT}};
}

static void segment_zero(const window_nest *n, segment s)
{
    bool    input = n->kind == WINDOW_INPUT;
    int64_t bytes = (int64_t)mtf_dtype_bytes(n->type), offset = window_result_row(n, s.row);
    int64_t stride = input ? n->row.x : n->row.y;
    int64_t width = n->groups * (input ? n->chans : n->outs);
    char   *start = (input ? n->x : n->y) + offset * bytes;
    for (int64_t at = s.at.first; at < s.at.end; at++)
        memset(start + at * stride * bytes, 0, (size_t)(width * bytes));
}

/* One tap's filter while it is applied to rows. */
typedef struct passing {
    gemm  base;
    void *packed, *scratch; /* for the project's own products; NULL: BLAS */
    bool  ready;            /* is it packed? */
} passing;

static void passing_add(passing *f, int positions, const void *from, const void *w, void *to)
{
    gemm g = f->base;
    g.m = positions;
#if MTF_OWN_PRODUCTS
    if (f->packed) { /* as the transposed product */
        product p = {.type = g.type,
                     .m = g.n,
                     .n = g.m,
                     .k = g.k,
                     .a_m = 1,
                     .a_k = g.b.ld,
                     .b_k = 1,
                     .b_n = g.a.ld,
                     .c_m = 1,
                     .c_n = g.c.ld};
        if (!f->ready) product_pack(&p, w, f->packed);
        f->ready = true;
        product_add_packed(&p, f->packed, from, to, f->scratch);
        return;
    }
#endif
    gemm_run(&g, from, w, to);
}

/* y[o, n] += x[o*step + t*dilation - before, c] * w[t, c, n], or x += y * w' in INPUT, whose
 * filters have been transposed. */
static void segment_add(const window_nest *n, passing *f, segment s, int64_t group, int64_t tap)
{
    bool         input = n->kind == WINDOW_INPUT;
    int64_t      bytes = (int64_t)mtf_dtype_bytes(n->type), t = tap % n->row.taps;
    window_range in = input ? s.at : (window_range){0, n->row.in};
    window_range out = input ? (window_range){0, n->row.out} : s.at;
    window_range o = window_clip(&n->row, t, in, out);
    window_join  j;
    if (o.first == o.end || !window_join_at(n, s.row, tap / n->row.taps, &j)) return;
    int64_t at = o.first * n->row.step + t * n->row.dilation - n->row.before;
    char   *x = n->x + (j.x + at * n->row.x + group * n->chans * n->x_chan) * bytes;
    int64_t transposed = (tap * n->groups + group) * n->outs * n->chans;
    char *w = n->w + (input ? transposed : j.w + t * n->row.w + group * n->outs * n->w_out) * bytes;
    char *y = n->y + (j.y + o.first * n->row.y + group * n->outs * n->y_out) * bytes;
    passing_add(f, (int)(o.end - o.first), input ? y : x, w, input ? x : y);
}

/* Bytes that a thread needs for the project's own products; 0: BLAS. */
static size_t passing_bytes(const window_nest *n)
{
#if MTF_OWN_PRODUCTS
    bool    input = n->kind == WINDOW_INPUT;
    int64_t k = input ? n->outs : n->chans;
    if (n->type == MTF_F32 && n->kind != WINDOW_FILTER && k <= PACKED_DEEP)
        return product_packed_bytes(input ? n->chans : n->outs, k) + product_packed_scratch(k);
#endif
    (void)n;
    return 0;
}

static passing passing_of(const window_nest *n, const gemm *base, char *scratch, int thread)
{
    passing f = {.base = *base};
#if MTF_OWN_PRODUCTS
    if (!passing_bytes(n)) return f;
    f.scratch = scratch + (size_t)thread * passing_bytes(n);
    f.packed = (char *)f.scratch + product_packed_scratch(base->k);
#else
    (void)n, (void)scratch, (void)thread;
#endif
    return f;
}

/* y from (x, w), or x from (y, w): the equations of window_plain.c, a block of rows at a time so
 * that one tap's filter serves all of them while it is in the cache. */
static void blas_result(const window_nest *n, gemm base, char *scratch)
{
    bool    input = n->kind == WINDOW_INPUT;
    int64_t length = input ? n->row.in : n->row.out, taps = n->outer_taps * n->row.taps;
    int64_t units = (input ? n->outer_in : n->outer_out) * ceil_div(length, SEGMENT);
    int64_t at_once = units / n->threads < 1 ? 1 : units / n->threads;
    if (at_once > ROWS_AT_ONCE) at_once = ROWS_AT_ONCE;
    base.n = (int)(input ? n->chans : n->outs);
    base.k = (int)(input ? n->outs : n->chans);
    if (input) base.b = (matrix){false, (int)n->chans};
    int64_t blocks = ceil_div(units, at_once);
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(n->threads) if (n->threads > 1 && !n->alone)
#endif
    for (int part = 0; part < n->threads; part++)
        for (int64_t b = blocks * part / n->threads; b < blocks * (part + 1) / n->threads; b++) {
            int64_t first = b * at_once, end = first + at_once < units ? first + at_once : units;
            for (int64_t u = first; u < end; u++) segment_zero(n, segment_at(u, length));
            for (int64_t group = 0; group < n->groups; group++)
                for (int64_t tap = 0; tap < taps; tap++) {
                    passing f = passing_of(n, &base, scratch, part);
                    for (int64_t u = first; u < end; u++)
                        segment_add(n, &f, segment_at(u, length), group, tap);
                }
        }
}

/* ---- the gradient of the filter ---- */

/* Tiles of a filter at each tap. */
typedef struct tiles {
    int64_t chans, outs, all; /* of a group; of all taps and groups */
} tiles;

static tiles tiles_of(const window_nest *n)
{
    tiles t = {ceil_div(n->chans, TILE), ceil_div(n->outs, TILE), 0};
    t.all = n->outer_taps * n->row.taps * n->groups * t.chans * t.outs;
    return t;
}

static int64_t parts_of(const window_nest *n)
{
    if (n->kind != WINDOW_FILTER) return 1;
    return window_filter_parts(n, tiles_of(n).all, n->outer_out / LEAST_ROWS);
}

/* A tile of the filter at one tap of one group, from channel c and output m on, summed over the rows
 * [first, end) of y:
 * w[t, c, n] = sum over b.., o.. of x[b.., o*step + t*dilation - before.., c] * y[b.., o.., n] */
static void filter_tile(const window_nest *n, gemm g, int64_t tap, int64_t c, int64_t m,
                        window_range rows)
{
    int64_t      bytes = (int64_t)mtf_dtype_bytes(n->type), t = tap % n->row.taps;
    int64_t      group = m / n->outs, chan = group * n->chans + c;
    int64_t      outs_left = (group + 1) * n->outs - m, chans_left = n->chans - c;
    window_range whole = {0, n->row.in},
                 o = window_clip(&n->row, t, whole, (window_range){0, n->row.out});
    int64_t     at = o.first * n->row.step + t * n->row.dilation - n->row.before;
    window_join j;
    char       *w = n->w + (t * n->row.w + c * n->w_chan + m * n->w_out) * bytes;
    int64_t     rest = tap / n->row.taps;
    for (int k = n->outer - 1; k >= 0; k--) {
        w += rest % n->dim[k].taps * n->dim[k].w * bytes;
        rest /= n->dim[k].taps;
    }
    g.m = (int)(chans_left < TILE ? chans_left : TILE);
    g.n = (int)(outs_left < TILE ? outs_left : TILE);
    g.k = (int)(o.end - o.first);
    for (int i = 0; i < g.m; i++) memset(w + i * n->w_chan * bytes, 0, (size_t)(g.n * bytes));
    for (int64_t row = rows.first; g.k > 0 && row < rows.end; row++)
        if (window_join_at(n, row, tap / n->row.taps, &j))
            gemm_run(&g, n->x + (j.x + at * n->row.x + chan * n->x_chan) * bytes,
                     n->y + (j.y + o.first * n->row.y + m * n->y_out) * bytes, w);
}

static void blas_filter(const window_nest *n, gemm base, char *scratch)
{
    tiles   t = tiles_of(n);
    int64_t parts = parts_of(n), each = n->groups * t.chans * t.outs, rows = n->outer_out;
    base.a.transposed = true;
    if (parts > 1) base.c.ld = (int)(n->groups * n->outs);
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(n->threads) if (n->threads > 1 && !n->alone)
#endif
    for (int64_t task = 0; task < parts * t.all; task++) {
        int64_t     part = task / t.all, tile = task % t.all, rest = tile % each;
        int64_t     out = rest / (t.chans * t.outs) * n->outs + rest % t.outs * TILE;
        window_nest own = parts > 1 ? window_filter_part(n, scratch, part) : *n;
        filter_tile(&own, base, tile / each, rest / t.outs % t.chans * TILE, out,
                    (window_range){rows * part / parts, rows * (part + 1) / parts});
    }
    if (parts > 1) window_filter_sum(n, scratch, parts);
}

/* ---- all three ---- */

static size_t filters_bytes(const window_nest *n)
{
    int64_t filters = n->kind == WINDOW_INPUT ? 1 : parts_of(n) > 1 ? parts_of(n) : 0;
    return (size_t)filters * window_filter_bytes(n);
}

size_t window_blas_bytes(const window_nest *n, size_t threads)
{
    return filters_bytes(n) + threads * passing_bytes(n);
}

void window_blas(const window_nest *n, char *scratch)
{
    matrix x = {0}, w = {0}, y = {0};
    matrices(n, &x, &w, &y);
    if (n->kind == WINDOW_FORWARD) {
        blas_result(n, (gemm){.type = n->type, .a = x, .b = w, .c = y, .add = true}, scratch);
    } else if (n->kind == WINDOW_INPUT) {
        window_nest transposed = *n;
        transposed.w = scratch;
        window_filter_transpose(n, scratch);
        blas_result(&transposed, (gemm){.type = n->type, .a = y, .c = x, .add = true},
                    scratch + filters_bytes(n));
    } else {
        blas_filter(n, (gemm){.type = n->type, .a = x, .b = y, .c = w, .add = true}, scratch);
    }
}
