/* A convolution as one nest of dimensions. */
#include "cpu/window_nest.h"

#include <string.h>

/* Below this many multiply-adds one core computes everything. */
enum { PARALLEL_PRODUCTS = 64 * 1024 };

/* One tap, no padding, step 1: position p of y uses position p of x. */
static bool straight(const window_dim *d)
{
    return d->taps == 1 && d->step == 1 && d->before == 0 && d->in == d->out;
}

/* Appends a dimension to the list, or merges it with the one before if both are straight and
 * contiguous with each other in all operands.  Returns the new length. */
static int append(window_dim *list, int length, window_dim d)
{
    if (length > 0 && straight(&d) && straight(&list[length - 1])) {
        window_dim *last = &list[length - 1];
        bool        lone = last->in == 1; /* its strides are irrelevant */
        if (lone || d.in == 1 || (last->x == d.x * d.in && last->y == d.y * d.out)) {
            window_dim steps = d.in == 1 && !lone ? *last : d;
            steps.in = steps.out = last->in * d.in;
            *last = steps;
            return length;
        }
    }
    list[length] = d;
    return length + 1;
}

static int dims_of(const instr *i, const access *x, const access *y, window_dim *list)
{
    const window_args *a = &i->window;
    int                length = 0;
    for (int l = 0; l < i->nloops; l++)
        length = append(list, length,
                        (window_dim){.in = i->size[l],
                                     .out = i->size[l],
                                     .taps = 1,
                                     .step = 1,
                                     .dilation = 1,
                                     .x = x->stride[l],
                                     .y = y->stride[l]});
    for (int s = 0; s < a->nspatial; s++)
        length = append(list, length,
                        (window_dim){.in = a->in_size[s],
                                     .out = a->out_size[s],
                                     .taps = a->taps[s],
                                     .step = a->step[s],
                                     .dilation = a->dilation[s],
                                     .before = a->before[s],
                                     .x = a->x_spatial[s],
                                     .w = a->w_tap[s],
                                     .y = a->y_spatial[s]});
    return length;
}

window_nest window_nest_of(const instr *i, const run_state *r)
{
    const window_args *a = &i->window;
    bool               forward = a->kind == WINDOW_FORWARD, input = a->kind == WINDOW_INPUT;
    const access      *x = input ? &i->out[0] : &i->in[0];
    const access      *w = forward || input ? &i->in[1] : &i->out[0];
    const access      *y = forward ? &i->out[0] : input ? &i->in[0] : &i->in[1];
    window_nest        n = {.kind = a->kind,
                            .type = i->out[0].type,
                            .groups = a->groups,
                            .chans = a->chans,
                            .outs = a->outs,
                            .x_chan = a->x_chan,
                            .w_chan = a->w_chan,
                            .w_out = a->w_out,
                            .y_out = a->y_out,
                            .threads = 1};
    n.outer = dims_of(i, x, y, n.dim) - 1;
    n.row = n.dim[n.outer];
    n.outer_taps = n.outer_in = n.outer_out = 1;
    for (int d = 0; d < n.outer; d++) {
        n.outer_taps *= n.dim[d].taps;
        n.outer_in *= n.dim[d].in;
        n.outer_out *= n.dim[d].out;
    }
    int64_t products =
        n.outer_taps * n.row.taps * n.outer_out * n.row.out * a->groups * a->chans * a->outs;
    n.large = products >= PARALLEL_PRODUCTS;
    if (r) {
        n.x = operand(r, x);
        n.w = operand(r, w);
        n.y = operand(r, y);
        n.threads = n.large && r->threads > 1 ? r->threads : 1;
        n.alone = r->alone;
    }
    return n;
}

int64_t window_result_row(const window_nest *n, int64_t row)
{
    bool    input = n->kind == WINDOW_INPUT;
    int64_t offset = 0;
    for (int k = n->outer - 1; k >= 0; k--) {
        const window_dim *d = &n->dim[k];
        int64_t           size = input ? d->in : d->out;
        offset += row % size * (input ? d->x : d->y);
        row /= size;
    }
    return offset;
}

void window_zero_rows(const window_nest *n, int64_t first, int64_t end)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(n->type), width = n->groups * n->chans * bytes;
    for (int64_t row = first; row < end; row++) {
        int64_t offset = window_result_row(n, row);
        for (int64_t at = 0; at < n->row.in; at++)
            memset(n->x + (offset + at * n->row.x) * bytes, 0, (size_t)width);
    }
}

/* a / b and the rest, of numbers from 0 on: a division of 64 bits takes several times as long as one of 32. */
static int64_t divided(int64_t a, int64_t b, int64_t *rest)
{
    int64_t whole = ((uint64_t)a | (uint64_t)b) >> 32 ? a / b : (uint32_t)a / (uint32_t)b;
    *rest = a - whole * b;
    return whole;
}

bool window_join_at(const window_nest *n, int64_t row, int64_t tap, window_join *j)
{
    *j = (window_join){0, 0, 0};
    for (int k = n->outer - 1; k >= 0; k--) {
        const window_dim *d = &n->dim[k];
        int64_t           in, out, t = 0, off = 0;
        if (d->taps > 1) tap = divided(tap, d->taps, &t);
        if (n->kind == WINDOW_INPUT) {
            row = divided(row, d->in, &in);
            int64_t steps = in + d->before - t * d->dilation;
            if (steps < 0) return false;
            out = d->step == 1 ? steps : divided(steps, d->step, &off);
            if (off != 0 || out >= d->out) return false;
        } else {
            row = divided(row, d->out, &out);
            in = out * d->step + t * d->dilation - d->before;
            if (in < 0 || in >= d->in) return false;
        }
        j->x += in * d->x;
        j->w += t * d->w;
        j->y += out * d->y;
    }
    return true;
}

static int64_t divided_up(int64_t a, int64_t b)
{
    return a > 0 ? (a + b - 1) / b : -(-a / b);
}

window_range window_clip(const window_dim *row, int64_t tap, window_range in, window_range out)
{
    int64_t      shift = row->before - tap * row->dilation; /* in = out * step - shift */
    window_range r = {divided_up(in.first + shift, row->step),
                      divided_up(in.end + shift, row->step)};
    if (r.first < out.first) r.first = out.first;
    if (r.end > out.end) r.end = out.end;
    if (r.end < r.first) r.end = r.first;
    return r;
}
