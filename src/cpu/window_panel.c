/* Convolution as matrix products of panels.
 *
 * If rows are short or channels few, one tap's product is too small for BLAS.
 * Here the inputs that a block of outputs uses under several taps are copied
 * next to each other, into a panel that stays in the cache:
 *
 *     y[p, n] += panel[p, (tap, chan)] * w[(tap, chan), n]
 *
 * and similarly for the two gradients; that of the input adds its panel back.
 * Blocks and panels depend on the sizes only, not on the number of threads.
 */
#include <string.h>

#include "base/whole.h"
#include "cpu/matrix.h"
#include "cpu/window_filter.h"

enum {
    BLOCK = 96,             /* positions of a panel */
    WIDTH = 512,            /* the most taps times channels */
    WIDE = 160,             /* enough taps times channels: such a panel stays in the L1 cache */
    FEW_TERMS = 8,          /* fewer taps times channels are not worth a product */
    FEW_OUTS = 4,           /* nor are fewer outputs */
    LEAST_BLOCKS = 4,       /* the least in a part of the filter's gradient */
    FEW_IMAGES = 8,         /* fewer are not worth the gradient of the input */
    LARGE_PRODUCT = 1 << 15 /* multiply-adds of a tap and a row from which window_blas is faster */
};

/* ---- when panels can be used ---- */

/* Extends a dense list of `size` elements `stride` apart by an outer dimension and returns its
 * stride; 0: it is not dense. */
static int64_t extend(int64_t *stride, int64_t *size, int64_t next_size, int64_t next_stride)
{
    if (next_size == 1) return *stride;
    if (*size == 1)
        *stride = next_stride;
    else if (next_stride != *stride * *size)
        return *stride = 0;
    *size *= next_size;
    return *stride;
}

/* Filter and outputs as matrices: [taps and channels, outputs], [positions, outputs]. */
static bool matrices(const window_nest *n, matrix *w, matrix *y)
{
    int64_t w_stride = n->w_chan, w_rows = n->chans, y_stride = 1, y_rows = 1;
    for (int k = n->outer; k >= 0; k--) {
        const window_dim *d = k == n->outer ? &n->row : &n->dim[k];
        if (!extend(&w_stride, &w_rows, d->taps, d->w)) return false;
        if (!extend(&y_stride, &y_rows, d->out, d->y)) return false;
    }
    int64_t all = n->groups * n->outs;
    bool    lines = (n->x_chan == 1 || n->groups * n->chans == 1) && (n->w_out == 1 || all == 1) &&
                 (n->y_out == 1 || all == 1);
    return lines && matrix_rows(w_rows, n->outs, w_stride, 1, &w->ld) &&
           matrix_rows(y_rows, n->outs, y_stride, 1, &y->ld);
}

/* Leading dimensions without taps: images, which share no inputs. */
static int64_t images_of(const window_nest *n)
{
    int64_t images = 1;
    for (int k = 0; k < n->outer && n->dim[k].taps == 1 && n->dim[k].in == n->dim[k].out &&
                    n->dim[k].before == 0;
         k++)
        images *= n->dim[k].out;
    return images;
}

bool window_panel_can(const window_nest *n)
{
    matrix  w, y;
    int64_t width = n->row.taps * n->chans;
    if (n->type != MTF_F32 && n->type != MTF_F64) return false;
    if (width > WIDTH || n->outer_taps * width < FEW_TERMS || n->outs < FEW_OUTS) return false;
    if (n->row.out * n->chans * n->outs >= LARGE_PRODUCT || n->outer_out == 0) return false;
    if (n->kind == WINDOW_INPUT && images_of(n) < FEW_IMAGES) return false;
    return matrices(n, &w, &y);
}

static size_t panel_bytes(const window_nest *n)
{
    return (size_t)BLOCK * WIDTH * mtf_dtype_bytes(n->type);
}

/* The filter's gradient is split into parts of the positions for each tap. */
static int64_t parts_of(const window_nest *n)
{
    if (n->kind != WINDOW_FILTER) return 1;
    return window_filter_parts(n, n->outer_taps * n->groups,
                               n->outer_out * n->row.out / (LEAST_BLOCKS * BLOCK));
}

size_t window_panel_bytes(const window_nest *n, size_t threads)
{
    size_t filters = parts_of(n) > 1 ? (size_t)parts_of(n) * window_filter_bytes(n) : 0;
    return threads * panel_bytes(n) + filters;
}

/* ---- panels ---- */

/* Positions [first, end) of all outputs under the outer taps [tap, last), in one group. */
typedef struct panel {
    const window_nest *n; /* as FORWARD: rows are those of y */
    matrix             w, y;
    int64_t            first, end, tap, last, group;
    bool               add; /* to the filter */
    char              *at;
} panel;

static int64_t panel_width(const panel *p)
{
    return (p->last - p->tap) * p->n->row.taps * p->n->chans;
}

/* Called with elements of x under consecutive taps, and their place in the panel. */
typedef void panel_visit(mtf_dtype type, char *x, char *place, int64_t count);

static void copy_in(mtf_dtype type, char *x, char *place, int64_t count)
{
    memcpy(place, x, (size_t)count * mtf_dtype_bytes(type));
}

static void add_back(mtf_dtype type, char *x, char *place, int64_t count)
{
    if (type == MTF_F32)
        for (int64_t i = 0; i < count; i++) ((float *)x)[i] += ((float *)place)[i];
    else
        for (int64_t i = 0; i < count; i++) ((double *)x)[i] += ((double *)place)[i];
}

/* Visits output o of a row under one outer tap, which uses the input row at `x`. */
static void visit_output(const window_nest *n, char *x, int64_t o, char *place, panel_visit *visit)
{
    const window_dim *row = &n->row;
    int64_t           bytes = (int64_t)mtf_dtype_bytes(n->type), first = 0, end = row->taps;
    int64_t           in = o * row->step - row->before, apart = row->dilation * row->x;
    while (first < end && in + first * row->dilation < 0) first++;
    while (first < end && in + (end - 1) * row->dilation >= row->in) end--;
    x += (in * row->x + first * apart) * bytes;
    place += first * n->chans * bytes;
    if (apart == n->chans) {
        visit(n->type, x, place, (end - first) * n->chans);
        return;
    }
    for (; first < end; first++, x += apart * bytes, place += n->chans * bytes)
        visit(n->type, x, place, n->chans);
}

static void visit_panel(const panel *p, panel_visit *visit)
{
    const window_nest *n = p->n;
    int64_t            bytes = (int64_t)mtf_dtype_bytes(n->type), width = panel_width(p) * bytes;
    int64_t            under_one = n->row.taps * n->chans * bytes;
    for (int64_t at = p->first, end; at < p->end; at = end) {
        int64_t row = at / n->row.out, begin = row * n->row.out;
        end = begin + n->row.out < p->end ? begin + n->row.out : p->end;
        for (int64_t tap = p->tap; tap < p->last; tap++) {
            window_join j;
            if (!window_join_at(n, row, tap, &j)) continue;
            char *x = n->x + (j.x + p->group * n->chans) * bytes;
            char *place = p->at + (at - p->first) * width + (tap - p->tap) * under_one;
            for (int64_t o = at; o < end; o++, place += width)
                visit_output(n, x, o - begin, place, visit);
        }
    }
}

static void fill(const panel *p)
{
    memset(p->at, 0, /* the padding */
           (size_t)((p->end - p->first) * panel_width(p)) * mtf_dtype_bytes(p->n->type));
    visit_panel(p, copy_in);
}

static char *filter_at(const panel *p)
{
    int64_t row = p->tap * p->n->row.taps * p->n->chans;
    return p->n->w + (row * p->w.ld + p->group * p->n->outs) * (int64_t)mtf_dtype_bytes(p->n->type);
}

static char *outputs_at(const panel *p)
{
    return p->n->y +
           (p->first * p->y.ld + p->group * p->n->outs) * (int64_t)mtf_dtype_bytes(p->n->type);
}

/* ---- the three kinds ---- */

static void add_outputs(const panel *p)
{
    int  width = (int)panel_width(p);
    gemm g = {.type = p->n->type,
              .m = (int)(p->end - p->first),
              .n = (int)p->n->outs,
              .k = width,
              .a = {false, width},
              .b = p->w,
              .c = p->y,
              .add = p->tap > 0};
    fill(p);
    gemm_run(&g, p->at, filter_at(p), outputs_at(p));
}

static void add_inputs(const panel *p)
{
    int  width = (int)panel_width(p);
    gemm g = {.type = p->n->type,
              .m = (int)(p->end - p->first),
              .n = width,
              .k = (int)p->n->outs,
              .a = p->y,
              .b = {true, p->w.ld},
              .c = {false, width}};
    gemm_run(&g, outputs_at(p), filter_at(p), p->at);
    visit_panel(p, add_back);
}

static void add_filter(const panel *p)
{
    int  width = (int)panel_width(p);
    gemm g = {.type = p->n->type,
              .m = width,
              .n = (int)p->n->outs,
              .k = (int)(p->end - p->first),
              .a = {true, width},
              .b = p->y,
              .c = p->w,
              .add = p->add};
    fill(p);
    gemm_run(&g, p->at, outputs_at(p), filter_at(p));
}

/* Runs all panels of the positions [first, end). */
static void run_positions(panel p, int64_t first, int64_t end, void (*add)(const panel *p))
{
    int64_t under_one = p.n->row.taps * p.n->chans, taps = p.n->outer_taps;
    int64_t at_once = under_one < WIDE ? WIDE / under_one : 1;
    for (p.first = first; p.first < end; p.first = p.end) {
        p.end = p.first + BLOCK < end ? p.first + BLOCK : end;
        for (p.group = 0; p.group < p.n->groups; p.group++)
            for (p.tap = 0; p.tap < taps; p.tap = p.last) {
                p.last = p.tap + at_once < taps ? p.tap + at_once : taps;
                add(&p);
            }
    }
}

/* Adds to the filter what positions [first, end) contribute to one tap. */
static void run_tap(panel p, int64_t which, int64_t first, int64_t end)
{
    p.tap = which % p.n->outer_taps;
    p.last = p.tap + 1;
    p.group = which / p.n->outer_taps;
    for (p.first = first; p.first < end; p.first = p.end) {
        p.end = p.first + BLOCK < end ? p.first + BLOCK : end;
        p.add = p.first > first;
        add_filter(&p);
    }
}

static void run_filter(panel p, int64_t unit, const window_nest *n, int64_t parts, char *filters)
{
    int64_t     taps = n->outer_taps * n->groups, positions = n->outer_out * n->row.out;
    int64_t     part = unit / taps;
    window_nest own = *p.n;
    if (parts > 1) {
        own = window_filter_part(p.n, filters, part);
        p.w.ld = (int)(n->groups * n->outs);
        p.n = &own;
    }
    run_tap(p, unit % taps, positions * part / parts, positions * (part + 1) / parts);
}

/* Outputs are computed block by block, inputs by groups of images with about a block of positions,
 * and the filter tap by tap. */
void window_panel(const window_nest *n, char *scratch)
{
    window_nest forward = *n;
    panel       p = {.n = &forward};
    int64_t     positions = n->outer_out * n->row.out, images = images_of(n), parts = parts_of(n);
    int64_t     each = positions / images, together = each < BLOCK ? BLOCK / each : 1;
    char       *filters = scratch + (size_t)n->threads * panel_bytes(n);
    int64_t     units = n->kind == WINDOW_FORWARD ? ceil_div(positions, BLOCK)
                        : n->kind == WINDOW_INPUT ? ceil_div(images, together)
                                                  : parts * n->outer_taps * n->groups;
    forward.kind = WINDOW_FORWARD;
    matrices(n, &p.w, &p.y);
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(n->threads) if (n->threads > 1 && !n->alone)
#endif
    for (int part = 0; part < n->threads; part++)
        for (int64_t u = units * part / n->threads; u < units * (part + 1) / n->threads; u++) {
            panel mine = p;
            mine.at = scratch + (size_t)part * panel_bytes(n);
            if (n->kind == WINDOW_FILTER) {
                run_filter(mine, u, n, parts, filters);
            } else if (n->kind == WINDOW_FORWARD) {
                int64_t end = (u + 1) * BLOCK;
                run_positions(mine, u * BLOCK, end < positions ? end : positions, add_outputs);
            } else {
                int64_t first = u * together, end = first + together;
                if (end > images) end = images;
                window_zero_rows(n, first * (n->outer_in / images), end * (n->outer_in / images));
                run_positions(mine, first * each, end * each, add_inputs);
            }
        }
    if (parts > 1) window_filter_sum(n, filters, parts);
}
