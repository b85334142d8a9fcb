/* Definitions of windows and convolutions. */
#include <string.h>

#include "verify/rules.h"

/* ---- window and its transpose ---- */

/* Both tour over windows and taps; element (p, t) of the windows is p * step + t * dilation.  Track 0
 * is in the windows, track 1 in what they slide over. */
static tour tour_windows(const node *n, const mtf_shape *windows, const char *taps,
                         const mtf_shape *plain)
{
    const char *dim = node_attr(n, "dim")->text;
    int64_t     stride = tour_stride(plain, dim);
    tour        w = tour_over(windows);
    tour_track(&w, windows);
    int over = tour_track(&w, plain);
    w.step[over][tour_find(&w, dim)] = stride * node_attr(n, "step")->i;
    w.step[over][tour_find(&w, taps)] = stride * node_attr(n, "dilation")->i;
    return w;
}

static bool rule_window(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    tour w = tour_windows(n, out->shape, node_attr(n, "taps")->dim.name, in[0].shape);
    (void)r;
    do out->at[w.at[0]] = in[0].at[w.at[1]];
    while (tour_next(&w));
    out->degree = in[0].degree;
    return true;
}

static bool rule_overlap_add(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    tour w = tour_windows(n, in[0].shape, node_attr(n, "taps")->text, out->shape);
    (void)r;
    do {
        cell *sum = &out->at[w.at[1]];
        *sum = exact_add(out->type, *sum, in[0].at[w.at[0]]);
    } while (tour_next(&w));
    out->degree = in[0].degree;
    return true;
}

/* ---- convolutions: dimensions by their place ---- */

enum { SPACE = 3 };

/* x [batch, space.., channels], w [taps.., channels / groups, outputs], y [batch, space.., outputs];
 * missing dimensions of space have size 1. */
typedef struct conv_sizes {
    int64_t batch, x[SPACE], y[SPACE], taps[SPACE];
    int64_t inner, outputs, groups; /* inner: channels of a group */
    int64_t stride[SPACE], dilation[SPACE], before[SPACE];
} conv_sizes;

static conv_sizes sizes_of(const node *n, const mtf_shape *x, const mtf_shape *w,
                           const mtf_shape *y)
{
    attr_ints stride = node_attr(n, "stride")->ints, dilation = node_attr(n, "dilation")->ints,
              before = node_attr(n, "before")->ints;
    conv_sizes c = {.batch = 1, .groups = node_attr(n, "groups")->i};
    int        ns = stride.n, first = x->ndims - 1 - ns;
    for (int i = 0; i < first; i++) c.batch *= x->dims[i].size;
    for (int i = 0; i < SPACE; i++) {
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

/* The three tensors; `sum` is the one of them that is computed. */
typedef struct triple {
    cell *x, *w, *y, **sum;
} triple;

static void gain(const triple *t, int64_t x, int64_t w, int64_t y, mtf_dtype type)
{
    cell *at_x = t->x + x, *at_w = t->w + w, *at_y = t->y + y;
    cell *sum = t->sum == &t->x ? at_x : t->sum == &t->w ? at_w : at_y;
    cell  a = sum == at_x ? *at_y : *at_x, b = sum == at_w ? *at_y : *at_w;
    *sum = exact_add(type, *sum, exact_mul(type, a, b));
}

/* Where tap t reads for position p; false: outside of x. */
static bool find_place(const conv_sizes *c, int64_t t, const int64_t *p, int64_t *q)
{
    int64_t tap[SPACE] = {t / (c->taps[1] * c->taps[2]), t / c->taps[2] % c->taps[1],
                          t % c->taps[2]};
    for (int i = 0; i < SPACE; i++) {
        q[i] = p[i] * c->stride[i] + tap[i] * c->dilation[i] - c->before[i];
        if (q[i] < 0 || q[i] >= c->x[i]) return false;
    }
    return true;
}

static void at_position(const conv_sizes *c, const triple *all, int64_t b, const int64_t *p,
                        mtf_dtype type)
{
    int64_t q[SPACE], y = ((b * c->y[0] + p[0]) * c->y[1] + p[1]) * c->y[2] + p[2];
    for (int64_t t = 0; t < c->taps[0] * c->taps[1] * c->taps[2]; t++) {
        if (!find_place(c, t, p, q)) continue;
        int64_t x = ((b * c->x[0] + q[0]) * c->x[1] + q[1]) * c->x[2] + q[2];
        for (int64_t out = 0; out < c->outputs; out++)
            for (int64_t k = 0; k < c->inner; k++) {
                int64_t group = out / (c->outputs / c->groups);
                gain(all, x * c->inner * c->groups + group * c->inner + k,
                     (t * c->inner + k) * c->outputs + out, y * c->outputs + out, type);
            }
    }
}

static bool convolve(const node *n, const tensor_value *x, const tensor_value *w,
                     const tensor_value *y, tensor_value *out)
{
    conv_sizes c = sizes_of(n, x->shape, w->shape, y->shape);
    triple     t = {.x = x->at, .w = w->at, .y = y->at};
    int64_t    p[SPACE];
    t.sum = out == x ? &t.x : out == w ? &t.w : &t.y;
    for (int64_t b = 0; b < c.batch; b++)
        for (p[0] = 0; p[0] < c.y[0]; p[0]++)
            for (p[1] = 0; p[1] < c.y[1]; p[1]++)
                for (p[2] = 0; p[2] < c.y[2]; p[2]++) at_position(&c, &t, b, p, out->type);
    return true;
}

static bool rule_conv(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)r;
    out->degree = in[0].degree + in[1].degree;
    return convolve(n, &in[0], &in[1], out, out);
}

static bool rule_conv_input(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)r;
    out->degree = in[0].degree + in[1].degree;
    return convolve(n, out, &in[1], &in[0], out);
}

static bool rule_conv_filter(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)r;
    out->degree = in[0].degree + in[1].degree;
    return convolve(n, &in[0], out, &in[1], out);
}

const named_rule plain_window_rules[] = {
    {"window", rule_window},         {"overlap_add", rule_overlap_add}, {"conv", rule_conv},
    {"conv_input", rule_conv_input}, {"conv_filter", rule_conv_filter}, {NULL, NULL}};
