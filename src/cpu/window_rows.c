/* Convolution row by row, by the inner loops of products with few columns.
 *
 * Channels are adjacent, so the inputs of one output under the taps of its row
 * lie in a line, and those of the next output `chans` further on: a matrix whose
 * rows overlap.  For each tap of the outer dimensions a row of inputs is copied
 * with its padding, and multiplied as that matrix:
 *
 *     y[o, n] += line[o*chans + (t, c)] * w[(t, c), n]
 *
 * The gradient of the input is the same with transposed filters and the taps in
 * reverse.  In that of the filter the positions are summed:
 *
 *     w[(t, c), n] += line[o*chans + (t, c)] * y[o, n]
 */
#include <string.h>

#include "base/whole.h"
#include "cpu/slim_steps.h"
#include "cpu/window_filter.h"

enum {
    UNIT = SLIM_WIDE,       /* columns of a product */
    SEGMENT = 64,           /* the most positions of a row at once */
    LEAST_LENGTH = 8,       /* shorter rows leave registers empty */
    LEAST_WIDTH = 24,       /* fewer taps times channels are too few for a sum */
    MOST_WEIGHTS = 1 << 17, /* of a filter: more do not stay in the L2 cache */
    LARGE_PRODUCT =
        1 << 16,   /* multiply-adds of a tap and a row from which window_blas is as fast */
    LEAST_ROWS = 4 /* the least in a part of the filter's gradient */
};

/* What is multiplied, in FILTER as in FORWARD. */
typedef struct form {
    int64_t length, source; /* positions in a row of the result, and of what is copied */
    int64_t lead;           /* position p of the result begins with position p - lead */
    int64_t terms, columns; /* channels that are summed, and of the result */
    int64_t width;          /* taps times terms */
} form;

static form form_of(const window_nest *n)
{
    const window_dim *row = &n->row;
    if (n->kind == WINDOW_INPUT)
        return (form){.length = row->in,
                      .source = row->out,
                      .lead = row->taps - 1 - row->before,
                      .terms = n->outs,
                      .columns = n->chans,
                      .width = row->taps * n->outs};
    return (form){.length = row->out,
                  .source = row->in,
                  .lead = row->before,
                  .terms = n->chans,
                  .columns = n->outs,
                  .width = row->taps * n->chans};
}

/* Whether channels are adjacent, and positions of a row follow one another. */
static bool rows_dense(const window_nest *n)
{
    const window_dim *row = &n->row;
    return n->groups == 1 && row->step == 1 && row->dilation == 1 && n->x_chan == 1 &&
           n->y_out == 1 && row->x == n->chans && row->y == n->outs;
}

bool window_rows_can(const window_nest *n)
{
    form f = form_of(n);
    if (n->type != MTF_F32 || !rows_dense(n) || n->outer_taps * n->row.taps == 1) return false;
    if (f.columns % UNIT != 0 || f.length < LEAST_LENGTH || f.width < LEAST_WIDTH) return false;
    if (n->outer_taps * f.width * f.columns > MOST_WEIGHTS) return false;
    if (f.length * n->chans * n->outs >= LARGE_PRODUCT) return false;
    return n->kind != WINDOW_FILTER ||
           (slim_loops()->apart && n->w_out == 1 && n->row.w == n->chans * n->w_chan);
}

static int64_t parts_of(const window_nest *n)
{
    if (n->kind != WINDOW_FILTER) return 1;
    return window_filter_parts(n, n->outer_taps, n->outer_out / LEAST_ROWS);
}

static size_t line_bytes(const window_nest *n)
{
    return (size_t)((SEGMENT + n->row.taps - 1) * form_of(n).terms) * sizeof(float);
}

size_t window_rows_bytes(const window_nest *n, size_t threads)
{
    int64_t filters = n->kind != WINDOW_FILTER ? 1 : parts_of(n) > 1 ? parts_of(n) : 0;
    return (size_t)filters * window_filter_bytes(n) + threads * line_bytes(n);
}

/* The part of a row from which positions [first, end) of the result are made; zeros lie around it. */
static void copy_line(const form *f, const float *row, window_range at, int64_t taps, float *line)
{
    int64_t count = at.end - at.first + taps - 1, shift = f->lead - at.first;
    int64_t first = shift > 0 ? shift : 0, end = f->source + shift;
    if (end > count) end = count;
    if (first > count) first = count;
    if (end < first) end = first;
    memset(line, 0, (size_t)(first * f->terms) * sizeof *line);
    memcpy(line + first * f->terms, row + (first - shift) * f->terms,
           (size_t)((end - first) * f->terms) * sizeof *line);
    memset(line + end * f->terms, 0, (size_t)((count - end) * f->terms) * sizeof *line);
}

static window_range segment_of(int64_t k, int64_t length)
{
    int64_t first = k * SEGMENT;
    return (window_range){first, length - first < SEGMENT ? length : first + SEGMENT};
}

/* ---- results ---- */

/* The filter of one outer tap for one unit of columns: [taps, terms, UNIT]. */
static void pack_filter(const window_nest *n, const form *f, int64_t outer, int64_t column,
                        float *to)
{
    bool    input = n->kind == WINDOW_INPUT;
    int64_t term = input ? n->w_out : n->w_chan, next = input ? n->w_chan : n->w_out;
    for (int64_t k = 0; k < n->row.taps; k++) {
        int64_t      tap = outer * n->row.taps + (input ? n->row.taps - 1 - k : k);
        const float *w =
            (const float *)(const void *)(n->w + window_filter_at(n, tap)) + column * next;
        for (int64_t c = 0; c < f->terms; c++)
            for (int64_t j = 0; j < UNIT; j++) *to++ = w[c * term + j * next];
    }
}

static void pack_filters(const window_nest *n, const form *f, float *to)
{
    int64_t units = f->columns / UNIT;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(n->threads) if (n->threads > 1 && !n->alone)
#endif
    for (int64_t k = 0; k < n->outer_taps * units; k++)
        pack_filter(n, f, k / units, k % units * UNIT, to + k * f->width * UNIT);
}

static void result_segment(const window_nest *n, const form *f, int64_t row, window_range at,
                           const float *filters, float *line)
{
    bool        input = n->kind == WINDOW_INPUT;
    float      *c = (float *)(void *)(input ? n->x : n->y) + window_result_row(n, row);
    slim_along  s = {.rows = at.end - at.first,
                     .terms = f->width,
                     .cols = UNIT,
                     .a_row = f->terms,
                     .c_row = f->columns,
                     .c_col = 1,
                     .a_term = 1,
                     .b_row = UNIT,
                     .add = true};
    window_join j;
    c += at.first * f->columns;
    memset(c, 0, (size_t)(s.rows * f->columns) * sizeof *c);
    for (int64_t tap = 0; tap < n->outer_taps; tap++) {
        if (!window_join_at(n, row, tap, &j)) continue;
        const float *source = (const float *)(const void *)(input ? n->y : n->x);
        const float *filter = filters + tap * f->columns * f->width;
        copy_line(f, source + (input ? j.y : j.x), at, n->row.taps, line);
        for (int64_t k = 0; k < f->columns; k += UNIT)
            slim_loops()->along(&s, line, filter + k * f->width, c + k);
    }
}

static void rows_result(const window_nest *n, const form *f, char *lines, float *filters)
{
    int64_t per_row = ceil_div(f->length, SEGMENT);
    int64_t units = (n->kind == WINDOW_INPUT ? n->outer_in : n->outer_out) * per_row;
    pack_filters(n, f, filters);
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(n->threads) if (n->threads > 1 && !n->alone)
#endif
    for (int part = 0; part < n->threads; part++)
        for (int64_t u = units * part / n->threads; u < units * (part + 1) / n->threads; u++)
            result_segment(n, f, u / per_row, segment_of(u % per_row, f->length), filters,
                           (float *)(void *)(lines + (size_t)part * line_bytes(n)));
}

/* ---- the gradient of the filter ---- */

/* Adds to one outer tap's filter what a segment of a row contributes. */
static void filter_segment(const window_nest *n, const form *f, window_join j, window_range at,
                           float *line, float *w)
{
    const float *x = (const float *)(const void *)n->x + j.x;
    const float *y = (const float *)(const void *)n->y + j.y + at.first * n->outs;
    slim_along   s = {.rows = f->width,
                      .terms = at.end - at.first,
                      .cols = UNIT,
                      .a_row = 1,
                      .c_row = n->w_chan,
                      .c_col = 1,
                      .a_term = f->terms,
                      .b_row = n->outs,
                      .add = true};
    copy_line(f, x, at, n->row.taps, line);
    for (int64_t k = 0; k < f->columns; k += UNIT) slim_loops()->along(&s, line, y + k, w + k);
}

static void filter_tap(const window_nest *n, const form *f, int64_t tap, window_range rows,
                       float *line)
{
    float      *w = (float *)(void *)(n->w + window_filter_at(n, tap * n->row.taps));
    window_join j;
    for (int64_t k = 0; k < f->width; k++)
        memset(w + k * n->w_chan, 0, (size_t)n->outs * sizeof *w);
    for (int64_t row = rows.first; row < rows.end; row++) {
        if (!window_join_at(n, row, tap, &j)) continue;
        for (int64_t k = 0; k < ceil_div(f->length, SEGMENT); k++)
            filter_segment(n, f, j, segment_of(k, f->length), line, w);
    }
}

static void rows_filter(const window_nest *n, const form *f, char *lines, char *filters)
{
    int64_t parts = parts_of(n), tasks = parts * n->outer_taps, rows = n->outer_out;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(n->threads) if (n->threads > 1 && !n->alone)
#endif
    for (int thread = 0; thread < n->threads; thread++)
        for (int64_t task = tasks * thread / n->threads; task < tasks * (thread + 1) / n->threads;
             task++) {
            int64_t     part = task / n->outer_taps;
            window_nest own = parts > 1 ? window_filter_part(n, filters, part) : *n;
            filter_tap(&own, f, task % n->outer_taps,
                       (window_range){rows * part / parts, rows * (part + 1) / parts},
                       (float *)(void *)(lines + (size_t)thread * line_bytes(n)));
        }
    if (parts > 1) window_filter_sum(n, filters, parts);
}

void window_rows(const window_nest *n, char *scratch)
{
    form  f = form_of(n);
    char *filters = scratch + (size_t)n->threads * line_bytes(n);
    if (n->kind == WINDOW_FILTER)
        rows_filter(n, &f, scratch, filters);
    else
        rows_result(n, &f, scratch, (float *)(void *)filters);
}
