/* Definitions of windows and convolutions. */
#include <string.h>

#include "rules.h"

/* ---- window and its transpose ---- */

/* Both walk over windows and taps; element (p, t) of the windows is p * step + t * dilation. */
static void walk_windows(const node *n, const mtf_shape *windows, const char *taps,
                         const mtf_shape *plain, walk *w, track *a, track *b)
{
    const char *dim = node_attr(n, "dim")->text;
    int64_t     stride = stride_of(plain, dim);
    *w = walk_over(windows);
    *a = track_in(w, windows);
    *b = track_in(w, plain);
    b->step[walk_find(w, dim)] = stride * node_attr(n, "step")->i;
    b->step[walk_find(w, taps)] = stride * node_attr(n, "dilation")->i;
}

static void rule_window(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    walk  w;
    track to, from;
    walk_windows(n, &out->shape, node_attr(n, "taps")->dim.name, &in[0]->shape, &w, &to, &from);
    do out->at[track_at(&w, &to)] = in[0]->at[track_at(&w, &from)];
    while (walk_next(&w));
}

static void rule_overlap_add(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    walk  w;
    track to, from;
    walk_windows(n, &in[0]->shape, node_attr(n, "taps")->text, &out->shape, &w, &from, &to);
    for (int64_t i = 0; i < out->n; i++) out->at[i] = number_zero(out->type);
    do {
        number *sum = &out->at[track_at(&w, &to)];
        *sum = number_add(*sum, in[0]->at[track_at(&w, &from)], out->type);
    } while (walk_next(&w));
    for (int64_t i = 0; i < out->n; i++)
        out->at[i] = number_rounded(out->at[i], out->type, in[0]->n);
}

/* ---- convolutions: dimensions by their place ---- */

/* x [batch, space.., channels], w [taps.., channels / groups, outputs], y [batch, space.., outputs];
 * missing dimensions of space have size 1. */
typedef struct conv_sizes {
    int64_t batch, x[3], y[3], taps[3], inner, outputs, groups; /* inner: channels of a group */
    int64_t stride[3], dilation[3], before[3];
} conv_sizes;

static conv_sizes sizes_of(const node *n, const mtf_shape *x, const mtf_shape *w,
                           const mtf_shape *y)
{
    attr_ints stride = node_attr(n, "stride")->ints, dilation = node_attr(n, "dilation")->ints,
              before = node_attr(n, "before")->ints;
    conv_sizes c = {.batch = 1, .groups = node_attr(n, "groups")->i};
    int        ns = stride.n, first = x->ndims - 1 - ns;
    for (int i = 0; i < first; i++) c.batch *= x->dims[i].size;
    for (int i = 0; i < 3; i++) {
        bool there = i < ns;
        c.x[i] = there ? x->dims[first + i].size : 1;
        c.y[i] = there ? y->dims[first + i].size : 1;
        c.taps[i] = there ? w->dims[i].size : 1;
        c.stride[i] = there ? stride.v[i] : 1;
        c.dilation[i] = there ? dilation.v[i] : 1;
        c.before[i] = there ? before.v[i] : 0;
    }
    c.inner = w->dims[ns].size;
    c.outputs = w->dims[ns + 1].size;
    return c;
}

typedef struct triple {
    number *x, *w, *y;
} triple;

/* One product: the result's element gains the product of the two others. */
static void gain(const node *n, triple at, mtf_dtype type)
{
    if (!strcmp(n->op->name, "conv"))
        *at.y = number_add(*at.y, number_mul(*at.x, *at.w, type), type);
    else if (!strcmp(n->op->name, "conv_input"))
        *at.x = number_add(*at.x, number_mul(*at.y, *at.w, type), type);
    else
        *at.w = number_add(*at.w, number_mul(*at.x, *at.y, type), type);
}

/* All taps, channels and outputs of position p of batch element b. */
static void at_position(const node *n, const conv_sizes *c, triple all, int64_t b, const int64_t *p,
                        mtf_dtype type)
{
    int64_t y_at = ((b * c->y[0] + p[0]) * c->y[1] + p[1]) * c->y[2] + p[2];
    for (int64_t t = 0; t < c->taps[0] * c->taps[1] * c->taps[2]; t++) {
        int64_t tap[3] = {t / (c->taps[1] * c->taps[2]), t / c->taps[2] % c->taps[1],
                          t % c->taps[2]};
        int64_t q[3], inside = 1;
        for (int i = 0; i < 3; i++) {
            q[i] = p[i] * c->stride[i] + tap[i] * c->dilation[i] - c->before[i];
            inside = inside && q[i] >= 0 && q[i] < c->x[i];
        }
        if (!inside) continue;
        int64_t x_at = ((b * c->x[0] + q[0]) * c->x[1] + q[1]) * c->x[2] + q[2];
        for (int64_t out = 0; out < c->outputs; out++)
            for (int64_t k = 0; k < c->inner; k++) {
                int64_t group = out / (c->outputs / c->groups);
                int64_t channel = group * c->inner + k;
                gain(n,
                     (triple){all.x + x_at * c->inner * c->groups + channel,
                              all.w + (t * c->inner + k) * c->outputs + out,
                              all.y + y_at * c->outputs + out},
                     type);
            }
    }
}

static void convolve(oracle *o, const node *n, const value *x, const value *w, const value *y,
                     value *out)
{
    conv_sizes c = sizes_of(n, &x->shape, &w->shape, &y->shape);
    o->work += y->n * w->n;
    if (o->work > MOST_WORK) {
        oracle_fail(o, "too much work");
        return;
    }
    for (int64_t i = 0; i < out->n; i++) out->at[i] = number_zero(out->type);
    int64_t p[3];
    for (int64_t b = 0; b < c.batch; b++)
        for (p[0] = 0; p[0] < c.y[0]; p[0]++)
            for (p[1] = 0; p[1] < c.y[1]; p[1]++)
                for (p[2] = 0; p[2] < c.y[2]; p[2]++)
                    at_position(n, &c, (triple){x->at, w->at, y->at}, b, p, out->type);
    int64_t terms = out == x ? w->n : out == w ? y->n : w->n;
    for (int64_t i = 0; i < out->n; i++) out->at[i] = number_rounded(out->at[i], out->type, terms);
}

static void rule_conv(oracle *o, const node *n, const value *const *in, value *out)
{
    convolve(o, n, in[0], in[1], out, out);
}

static void rule_conv_input(oracle *o, const node *n, const value *const *in, value *out)
{
    convolve(o, n, out, in[1], in[0], out);
}

static void rule_conv_filter(oracle *o, const node *n, const value *const *in, value *out)
{
    convolve(o, n, in[0], out, in[1], out);
}

const named_rule window_rules[] = {
    {"window", rule_window},         {"overlap_add", rule_overlap_add}, {"conv", rule_conv},
    {"conv_input", rule_conv_input}, {"conv_filter", rule_conv_filter}, {NULL, NULL}};
