/* Convolution by plain loops: every type, every stride.
 *
 * Sums stay in a block of lanes while all taps are added, so that short floats
 * are rounded once.  Lanes are the channels of the result (in FILTER the
 * outputs) of one group; if every group has one channel and one output, the
 * lanes run over the groups.
 */
#include "base/whole.h"
#include "cpu/arith.h"
#include "cpu/window_nest.h"

enum {
    LANES = 64, /* sums computed together */
    PLACES = 16 /* neighbours in a row that share a pass over the taps */
};

/* Strides of an operand along the groups, the lanes, and the terms, which are the channels that are
 * summed (in FILTER: that share the lanes' outputs). */
typedef struct spread {
    int64_t group, lane, term;
} spread;

typedef struct lanes {
    int64_t groups, lanes, terms;
    spread  x, w, y;
} lanes;

/* Some positions of one row of the result, in one group, lanes from `lane` on. */
typedef struct stretch {
    int64_t      row;
    window_range places;
    int64_t      group, lane;
} stretch;

static lanes lanes_of(const window_nest *n)
{
    if (n->chans == 1 && n->outs == 1)
        return (lanes){.groups = 1,
                       .lanes = n->groups,
                       .terms = 1,
                       .x = {0, n->x_chan, 0},
                       .w = {0, n->w_out, 0},
                       .y = {0, n->y_out, 0}};
    spread x = {n->chans * n->x_chan, 0, n->x_chan};
    spread w = {n->outs * n->w_out, n->w_out, n->w_chan};
    spread y = {n->outs * n->y_out, n->y_out, 0};
    if (n->kind != WINDOW_INPUT)
        return (lanes){
            .groups = n->groups, .lanes = n->outs, .terms = n->chans, .x = x, .w = w, .y = y};
    return (lanes){.groups = n->groups,
                   .lanes = n->chans,
                   .terms = n->outs,
                   .x = {x.group, x.term, 0},
                   .w = {w.group, w.term, w.lane},
                   .y = {y.group, 0, y.lane}};
}

/* A block of lanes at some positions of the result's row: y from (x, w), or x from (y, w). */
#define STRETCH(suffix, element, sum)                                                              \
    static void stretch_##suffix(const window_nest *n, const lanes *l, const stretch *p)           \
    {                                                                                              \
        bool           input = n->kind == WINDOW_INPUT;                                            \
        int64_t        count = l->lanes - p->lane < LANES ? l->lanes - p->lane : LANES;            \
        const spread  *from = input ? &l->y : &l->x, *to = input ? &l->x : &l->y;                  \
        int64_t        to_step = input ? n->row.x : n->row.y;                                      \
        const element *source = (const element *)(input ? n->y : n->x) + p->group * from->group +  \
                                p->lane * from->lane;                                              \
        const element *w = (const element *)n->w + p->group * l->w.group + p->lane * l->w.lane;    \
        element       *result = (element *)(input ? n->x : n->y) + p->group * to->group +          \
                          p->lane * to->lane + window_result_row(n, p->row);                       \
        sum         sums[PLACES][LANES] = {{0}};                                                   \
        window_join j;                                                                             \
        for (int64_t tap = 0; tap < n->outer_taps * n->row.taps; tap++) {                          \
            int64_t      t = tap % n->row.taps;                                                    \
            window_range o = outputs_of(n, t, p->places);                                          \
            if (o.first == o.end || !window_join_at(n, p->row, tap / n->row.taps, &j)) continue;   \
            for (int64_t out = o.first; out < o.end; out++) {                                      \
                int64_t in = out * n->row.step + t * n->row.dilation - n->row.before;              \
                int64_t at = input ? j.y + out * n->row.y : j.x + in * n->row.x;                   \
                sum    *s = sums[(input ? in : out) - p->places.first];                            \
                for (int64_t c = 0; c < l->terms; c++)                                             \
                    add_lanes_##suffix(s, count, source + at + c * from->term, from->lane,         \
                                       w + j.w + t * n->row.w + c * l->w.term, l->w.lane);         \
            }                                                                                      \
        }                                                                                          \
        for (int64_t at = p->places.first; at < p->places.end; at++)                               \
            store_lanes_##suffix(result + at * to_step, to->lane, sums[at - p->places.first],      \
                                 count);                                                           \
    }

/* A block of lanes of the filter at one tap and channel: summed over batch and positions. */
#define TAP(suffix, element, sum)                                                                  \
    static void tap_##suffix(const window_nest *n, const lanes *l, int64_t tap, int64_t group,     \
                             int64_t term, int64_t first)                                          \
    {                                                                                              \
        int64_t      count = l->lanes - first < LANES ? l->lanes - first : LANES;                  \
        int64_t      t = tap % n->row.taps, outer = tap / n->row.taps;                             \
        window_range o =                                                                           \
            window_clip(&n->row, t, (window_range){0, n->row.in}, (window_range){0, n->row.out});  \
        const element *x =                                                                         \
            (const element *)n->x + group * l->x.group + term * l->x.term + first * l->x.lane;     \
        const element *y = (const element *)n->y + group * l->y.group + first * l->y.lane;         \
        element *w = (element *)n->w + group * l->w.group + term * l->w.term + first * l->w.lane + \
                     tap_offset(n, outer) + t * n->row.w;                                          \
        sum         sums[LANES] = {0};                                                             \
        window_join j;                                                                             \
        for (int64_t row = 0; row < n->outer_out; row++) {                                         \
            if (!window_join_at(n, row, outer, &j)) continue;                                      \
            for (int64_t at = o.first; at < o.end; at++) {                                         \
                int64_t in = at * n->row.step + t * n->row.dilation - n->row.before;               \
                add_lanes_##suffix(sums, count, x + j.x + in * n->row.x, l->x.lane,                \
                                   y + j.y + at * n->row.y, l->y.lane);                            \
            }                                                                                      \
        }                                                                                          \
        store_lanes_##suffix(w, l->w.lane, sums, count);                                           \
    }

/* The offset of a combination of outer taps in the filter. */
static int64_t tap_offset(const window_nest *n, int64_t tap)
{
    int64_t offset = 0;
    for (int k = n->outer - 1; k >= 0; k--) {
        offset += tap % n->dim[k].taps * n->dim[k].w;
        tap /= n->dim[k].taps;
    }
    return offset;
}

/* The outputs of a row that one tap connects with some positions of the result. */
static window_range outputs_of(const window_nest *n, int64_t tap, window_range places)
{
    bool         input = n->kind == WINDOW_INPUT;
    window_range in = {0, n->row.in}, out = {0, n->row.out};
    return window_clip(&n->row, tap, input ? places : in, input ? out : places);
}

EACH_ELEMENT_TYPE(STRETCH)
EACH_ELEMENT_TYPE(TAP)

typedef void stretch_fn(const window_nest *, const lanes *, const stretch *);
typedef void tap_fn(const window_nest *, const lanes *, int64_t, int64_t, int64_t, int64_t);

/* w[t.., c, g*outs+n] = sum over b.., o.. of x[b.., o*step + t*dilation - before.., g*chans+c]
 *                                          * y[b.., o.., g*outs+n] */
static void plain_filter(const window_nest *n, const lanes *l)
{
    static tap_fn *const tap[DTYPES] = BY_ELEMENT_TYPE(tap);
    int64_t              blocks = ceil_div(l->lanes, LANES);
    int64_t              each = l->groups * l->terms * blocks;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(n->threads) if (n->threads > 1 && !n->alone)
#endif
    for (int64_t task = 0; task < n->outer_taps * n->row.taps * each; task++) {
        int64_t rest = task % each;
        tap[n->type](n, l, task / each, rest / blocks / l->terms, rest / blocks % l->terms,
                     rest % blocks * LANES);
    }
}

/* FORWARD: y as in window_nest.h.  INPUT, its transpose:
 * x[b.., i.., g*chans+c] = sum over taps t.., n where o*step + t*dilation - before = i of
 *                          y[b.., o.., g*outs+n] * w[t.., c, g*outs+n] */
static void plain_result(const window_nest *n, const lanes *l)
{
    static stretch_fn *const run[DTYPES] = BY_ELEMENT_TYPE(stretch);
    bool                     input = n->kind == WINDOW_INPUT;
    int64_t                  length = input ? n->row.in : n->row.out;
    int64_t rows = input ? n->outer_in : n->outer_out, per_row = ceil_div(length, PLACES);
#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(n->threads) if (n->threads > 1 && !n->alone)
#endif
    for (int64_t task = 0; task < rows * per_row; task++) {
        int64_t first = task % per_row * PLACES;
        stretch p = {.row = task / per_row,
                     .places = {first, length - first < PLACES ? length : first + PLACES}};
        for (p.group = 0; p.group < l->groups; p.group++)
            for (p.lane = 0; p.lane < l->lanes; p.lane += LANES) run[n->type](n, l, &p);
    }
}

void window_plain(const window_nest *n)
{
    lanes l = lanes_of(n);
    if (n->kind == WINDOW_FILTER)
        plain_filter(n, &l);
    else
        plain_result(n, &l);
}
