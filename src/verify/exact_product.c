/* Contractions and convolutions of the exact device. */
#include "program/epilogue.h"
#include "verify/exact.h"

/* sum over k of a[k * a_step] * b[k * b_step] */
static cell dot(mtf_dtype type, int64_t n, const cell *a, int64_t a_step, const cell *b,
                int64_t b_step)
{
    cell total = 0;
    if (exact_is_real(type)) return field_dot(n, a, a_step, b, b_step);
    for (int64_t k = 0; k < n; k++)
        total = exact_add(type, total, exact_mul(type, a[k * a_step], b[k * b_step]));
    return total;
}

static bool multiply(exact *x, const instr *i)
{
    operand_view a = view_of(x, i, &i->in[0]), b = view_of(x, i, &i->in[1]),
                 c = view_of(x, i, &i->out[0]);
    int         k = i->nloops - 1;       /* batch loops, m, n, then k */
    int         added = i->contract.add; /* lies as c does */
    const cell *more = added ? view_of(x, i, &i->in[added]).at : NULL;
    for (iterations t = iterations_begin(i, 0, k, &a, &b, &c); !t.done; iterations_next(&t)) {
        cell sum =
            dot(c.type, i->size[k], a.at + t.at[0], a.stride[k], b.at + t.at[1], b.stride[k]);
        c.at[t.at[2]] = more ? exact_add(c.type, sum, more[t.at[2]]) : sum;
    }
    return true;
}

bool exact_contract(exact *x, const instr *i)
{
    epilogue_parts parts;
    if (!epilogue_is_any(i)) return multiply(x, i);
    epilogue_split(i, &parts);
    for (int k = 0; k < parts.n; k++) TRY(exact_run(x, &parts.part[k]));
    return true;
}

/* ---- grouped products ---- */

/* The group of a row, counted from the first one here; -1: none here. */
static int64_t group_of(const grouped_args *how, int64_t row, const cell *ends, int64_t step)
{
    for (int64_t g = 0; g < how->first_group + how->groups; g++)
        if (how->first_row + row < (int64_t)ends[g * step]) return g - how->first_group;
    return -1;
}

/* One multiplication after the other; first the results are 0. */
bool exact_grouped(exact *x, const instr *i)
{
    const grouped_args *how = &i->grouped;
    operand_view        a = view_of(x, i, &i->in[0]), b = view_of(x, i, &i->in[1]),
                 ends = view_of(x, i, &i->in[2]), c = view_of(x, i, &i->out[0]);
    int     row = i->nloops - 3;
    int64_t apart = how->group_stride * (how->sums ? c.step : b.step);
    for (int64_t g = 0; g < (how->sums ? how->groups : 1); g++)
        for (iterations t = iterations_begin(i, 0, i->nloops, &c, NULL, NULL); !t.done;
             iterations_next(&t))
            c.at[t.at[0] + g * apart] = 0;
    iterations e = iterations_begin(i, 0, i->nloops, &ends, NULL, NULL);
    for (iterations t = iterations_begin(i, 0, i->nloops, &a, &b, &c); !t.done;
         iterations_next(&t), iterations_next(&e)) {
        int64_t g = group_of(how, t.index[row], ends.at + e.at[0], how->ends_stride * ends.step);
        if (g < 0) continue;
        cell *to = c.at + t.at[2] + (how->sums ? g * apart : 0);
        cell  y = b.at[t.at[1] + (how->sums ? 0 : g * apart)];
        *to = exact_add(c.type, *to, exact_mul(c.type, a.at[t.at[0]], y));
    }
    return true;
}

/* ---- windows ---- */

/* The loops of a convolution inside one of the batch: group, channel, output, then for each spatial
 * dimension the position in y and the tap. */
typedef struct window_loops {
    instr        loops; /* only sizes are used */
    operand_view x, w, y;
} window_loops;

static void add_loop(window_loops *n, int64_t size, int64_t x, int64_t w, int64_t y)
{
    int d = n->loops.nloops++;
    n->loops.size[d] = size;
    n->x.stride[d] = x * n->x.step;
    n->w.stride[d] = w * n->w.step;
    n->y.stride[d] = y * n->y.step;
}

static window_loops loops_of_window(const exact *x, const instr *i)
{
    const window_args *a = &i->window;
    const access      *out = &i->out[0], *first = &i->in[0], *second = &i->in[1];
    const access *y = a->kind == WINDOW_FORWARD ? out : a->kind == WINDOW_INPUT ? first : second;
    window_loops  n = {.x = view_of(x, i, a->kind == WINDOW_INPUT ? out : first),
                       .w = view_of(x, i, a->kind == WINDOW_FILTER ? out : second),
                       .y = view_of(x, i, y)};
    add_loop(&n, a->groups, a->chans * a->x_chan, a->outs * a->w_out, a->outs * a->y_out);
    add_loop(&n, a->chans, a->x_chan, a->w_chan, 0);
    add_loop(&n, a->outs, 0, a->w_out, a->y_out);
    for (int d = 0; d < a->nspatial; d++) {
        add_loop(&n, a->out_size[d], a->step[d] * a->x_spatial[d], 0, a->y_spatial[d]);
        add_loop(&n, a->taps[d], a->dilation[d] * a->x_spatial[d], a->w_tap[d], 0);
    }
    return n;
}

/* Does the iteration read inside of x?  `padding`: what to subtract from x's offset. */
static bool is_inside(const window_args *a, const iterations *t, int64_t *padding)
{
    *padding = 0;
    for (int d = 0; d < a->nspatial; d++) {
        const int64_t *at = &t->index[3 + 2 * d];
        int64_t        place = at[0] * a->step[d] + at[1] * a->dilation[d] - a->before[d];
        if (place < 0 || place >= a->in_size[d]) return false;
        *padding += a->before[d] * a->x_spatial[d];
    }
    return true;
}

/* Sets all elements of the operand that is computed to 0. */
static void clear(exact *x, const instr *i)
{
    const window_args *a = &i->window;
    bool               filter = a->kind == WINDOW_FILTER, input = a->kind == WINDOW_INPUT;
    const int64_t     *size = filter ? a->taps : input ? a->in_size : a->out_size;
    const int64_t     *spatial = filter ? a->w_tap : input ? a->x_spatial : a->y_spatial;
    operand_view       out = view_of(x, i, &i->out[0]);
    instr              all = {.nloops = i->nloops};
    for (int d = 0; d < i->nloops; d++) all.size[d] = i->size[d];
    for (int d = 0; d < a->nspatial; d++) {
        out.stride[all.nloops] = spatial[d] * out.step;
        all.size[all.nloops++] = size[d];
    }
    out.stride[all.nloops] = a->w_chan * out.step;
    all.size[all.nloops++] = filter ? a->chans : 1;
    out.stride[all.nloops] = (filter ? a->w_out : input ? a->x_chan : a->y_out) * out.step;
    all.size[all.nloops++] = a->groups * (input ? a->chans : a->outs);
    for (iterations t = iterations_begin(&all, 0, all.nloops, &out, NULL, NULL); !t.done;
         iterations_next(&t))
        out.at[t.at[0]] = 0;
}

static void add_window(const window_args *a, const window_loops *n, cell *px, cell *pw, cell *py)
{
    mtf_dtype type = n->y.type;
    int64_t   padding;
    for (iterations t = iterations_begin(&n->loops, 0, n->loops.nloops, &n->x, &n->w, &n->y);
         !t.done; iterations_next(&t)) {
        if (!is_inside(a, &t, &padding)) continue;
        cell *at_x = px + t.at[0] - padding * n->x.step, *at_w = pw + t.at[1], *at_y = py + t.at[2];
        cell *sum = a->kind == WINDOW_FORWARD ? at_y : a->kind == WINDOW_INPUT ? at_x : at_w;
        cell  first = sum == at_x ? *at_y : *at_x, second = sum == at_w ? *at_y : *at_w;
        *sum = exact_add(type, *sum, exact_mul(type, first, second));
    }
}

bool exact_window(exact *x, const instr *i)
{
    window_loops n = loops_of_window(x, i);
    operand_view first = view_of(x, i, &i->in[0]), second = view_of(x, i, &i->in[1]),
                 out = view_of(x, i, &i->out[0]);
    clear(x, i);
    for (iterations t = iterations_begin(i, 0, i->nloops, &first, &second, &out); !t.done;
         iterations_next(&t)) {
        cell *a = first.at + t.at[0], *b = second.at + t.at[1], *c = out.at + t.at[2];
        switch (i->window.kind) {
        case WINDOW_FORWARD: add_window(&i->window, &n, a, b, c); break;
        case WINDOW_INPUT: add_window(&i->window, &n, c, b, a); break;
        case WINDOW_FILTER: add_window(&i->window, &n, a, c, b); break;
        }
    }
    return true;
}
