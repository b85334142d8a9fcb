/* Convolutions: three operations that are each other's gradients.
 *
 * conv is linear in x and in the filter; conv_input is its transpose with
 * respect to x (what is called transposed convolution), conv_filter with
 * respect to the filter.  The derivative of each is made of the other two, so
 * any order of derivative works.
 */
#include <string.h>

#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/reach.h"
#include "ops/splits.h"
#include "ops/tape.h"

enum { STRIDE, DILATION, BEFORE, AFTER, GROUPS, SHAPE };

static const attr_spec conv_attrs[] = {
    {"stride", ATTR_INTS, NULL, "one per spatial dimension"},
    {"dilation", ATTR_INTS, NULL, "distance of taps"},
    {"before", ATTR_INTS, NULL, "zeros before"},
    {"after", ATTR_INTS, NULL, "zeros after"},
    {"groups", ATTR_INT, "1", "channels are split into groups that do not mix"},
    {"shape", ATTR_SHAPE, NULL, ""},
    {0},
};

/* ---- checks ---- */

static bool check_ints(const node *n)
{
    int ns = n->attrs[STRIDE].ints.n;
    if (ns < 1 || ns > MAX_SPATIAL || n->attrs[DILATION].ints.n != ns ||
        n->attrs[BEFORE].ints.n != ns || n->attrs[AFTER].ints.n != ns)
        return node_fail(
            n, ERR_SHAPE,
            "stride, dilation, before and after must have one number for each of 1 to 3 "
            "spatial dimensions");
    for (int i = 0; i < ns; i++)
        if (n->attrs[STRIDE].ints.v[i] < 1 || n->attrs[DILATION].ints.v[i] < 1 ||
            n->attrs[BEFORE].ints.v[i] < 0 || n->attrs[AFTER].ints.v[i] < 0 ||
            n->attrs[STRIDE].ints.v[i] > 1 << 20 || n->attrs[DILATION].ints.v[i] > 1 << 20 ||
            n->attrs[BEFORE].ints.v[i] > 1 << 30 || n->attrs[AFTER].ints.v[i] > 1 << 30)
            return node_fail(n, ERR_SHAPE, "strides and dilations are 1 to %d, paddings 0 to %d",
                             1 << 20, 1 << 30);
    if (n->attrs[GROUPS].i < 1) return node_fail(n, ERR_SHAPE, "groups must be 1 or more");
    return true;
}

static int64_t reach_of(const node *n, int i, int64_t taps)
{
    return (taps - 1) * n->attrs[DILATION].ints.v[i] + 1;
}

/* Do x [batch.., spatial.., channels], w [taps.., channels / groups, outputs] and
 * y [batch.., spatial.., outputs] fit together? */
static bool check_fit(const node *n, const mtf_shape *x, const mtf_shape *w, const mtf_shape *y)
{
    int     ns = n->attrs[STRIDE].ints.n;
    int64_t groups = n->attrs[GROUPS].i;
    if (w->ndims != ns + 2 || x->ndims < ns + 1 || y->ndims != x->ndims)
        return node_fail(
            n, ERR_SHAPE,
            "needs [batch.., %d spatial, channels] and a filter [%d taps, channels, outputs]", ns,
            ns);
    int64_t chans = x->dims[x->ndims - 1].size, outs = y->dims[y->ndims - 1].size;
    if (w->dims[ns].size * groups != chans || w->dims[ns + 1].size != outs || outs % groups)
        return node_fail(
            n, ERR_SHAPE,
            "\"%s\" and \"%s\": %lld channels in the last dimension, \"%s\", %lld outputs and %lld "
            "groups do not fit a filter of %lld channels and %lld outputs",
            tensor_name(n->in[0]), tensor_name(n->in[1]), (long long)chans,
            x->dims[x->ndims - 1].name, (long long)outs, (long long)groups,
            (long long)w->dims[ns].size, (long long)w->dims[ns + 1].size);
    int nbatch = x->ndims - ns - 1;
    for (int i = 0; i < nbatch; i++)
        if (strcmp(x->dims[i].name, y->dims[i].name) != 0 || x->dims[i].size != y->dims[i].size)
            return node_fail(n, ERR_SHAPE, "batch dimension \"%s\" differs from \"%s\"",
                             x->dims[i].name, y->dims[i].name);
    for (int i = 0; i < ns; i++) {
        int64_t room = x->dims[nbatch + i].size + n->attrs[BEFORE].ints.v[i] +
                       n->attrs[AFTER].ints.v[i] - reach_of(n, i, w->dims[i].size);
        if (room < 0 || room / n->attrs[STRIDE].ints.v[i] + 1 != y->dims[nbatch + i].size)
            return node_fail(
                n, ERR_SHAPE,
                "dimension \"%s\" of size %lld and a filter of %lld do not give %lld positions",
                x->dims[nbatch + i].name, (long long)x->dims[nbatch + i].size,
                (long long)w->dims[i].size, (long long)y->dims[nbatch + i].size);
    }
    return true;
}

static bool infer_given(node *n, window_kind kind);

static bool infer_conv(node *n)
{
    if (n->attrs[SHAPE].shape) return infer_given(n, WINDOW_FORWARD);
    TRY(node_needs_same_type(n) && check_ints(n));
    int              ns = n->attrs[STRIDE].ints.n;
    const mtf_shape *x = &n->in[0]->shape, *w = &n->in[1]->shape;
    if (x->ndims < ns + 1 || w->ndims != ns + 2)
        return node_fail(n, ERR_SHAPE,
                         "\"%s\" must be [batch.., %d spatial, channels] and \"%s\" [%d taps, "
                         "channels, outputs]",
                         tensor_name(n->in[0]), ns, tensor_name(n->in[1]), ns);
    mtf_shape y = *x;
    int       nbatch = x->ndims - ns - 1;
    for (int i = 0; i < ns; i++) {
        int64_t room = x->dims[nbatch + i].size + n->attrs[BEFORE].ints.v[i] +
                       n->attrs[AFTER].ints.v[i] - reach_of(n, i, w->dims[i].size);
        if (room < 0)
            return node_fail(n, ERR_SHAPE,
                             "the filter \"%s\" reaches over %lld elements, more than dimension "
                             "\"%s\" and its padding have",
                             tensor_name(n->in[1]), (long long)reach_of(n, i, w->dims[i].size),
                             x->dims[nbatch + i].name);
        y.dims[nbatch + i].size = room / n->attrs[STRIDE].ints.v[i] + 1;
    }
    y.dims[y.ndims - 1] = w->dims[ns + 1];
    y = shape_of(y.ndims, y.dims);
    TRY(shape_check(&y, n->op->name, &n->graph->session->fault) && check_fit(n, x, w, &y));
    TRY(node_output(n, n->in[0]->type, &y));
    n->attrs[SHAPE].shape = &n->out[0]->shape;
    return true;
}

/* Dimensions match by position: the output may have any names. */
static bool infer_given(node *n, window_kind kind)
{
    TRY(node_needs_same_type(n) && check_ints(n));
    if (!n->attrs[SHAPE].shape) return node_fail(n, ERR_SHAPE, "give the shape of the output");
    mtf_shape        out = *n->attrs[SHAPE].shape;
    const mtf_shape *a = &n->in[0]->shape, *b = &n->in[1]->shape;
    TRY(shape_check(&out, n->op->name, &n->graph->session->fault));
    TRY(kind == WINDOW_FORWARD ? check_fit(n, a, b, &out)
        : kind == WINDOW_INPUT ? check_fit(n, &out, b, a)
                               : check_fit(n, a, &out, b));
    TRY(node_output(n, n->in[0]->type, &out));
    n->attrs[SHAPE].shape = &n->out[0]->shape;
    return true;
}

static bool infer_input(node *n)
{
    return infer_given(n, WINDOW_INPUT);
}

static bool infer_filter(node *n)
{
    return infer_given(n, WINDOW_FILTER);
}

/* ---- gradients ---- */

static mtf_tensor *like(const op *o, const node *n, mtf_tensor *a, mtf_tensor *b,
                        const mtf_shape *shape)
{
    attr attrs[SHAPE + 1];
    memcpy(attrs, n->attrs, sizeof attrs);
    attrs[SHAPE].shape = shape;
    return node_binary(o, a, b, attrs);
}

/* y = conv(x, w) */
static void grad_conv(tape *t, const node *n, mtf_tensor *const *dy)
{
    mtf_tensor *x = n->in[0], *w = n->in[1];
    if (tape_wants(t, x)) tape_give(t, x, like(&op_conv_input, n, dy[0], w, &x->shape));
    if (tape_wants(t, w)) tape_give(t, w, like(&op_conv_filter, n, x, dy[0], &w->shape));
}

/* x = conv_input(y, w) */
static void grad_input(tape *t, const node *n, mtf_tensor *const *dx)
{
    mtf_tensor *y = n->in[0], *w = n->in[1];
    if (tape_wants(t, y)) tape_give(t, y, like(&op_conv, n, dx[0], w, &y->shape));
    if (tape_wants(t, w)) tape_give(t, w, like(&op_conv_filter, n, dx[0], y, &w->shape));
}

/* w = conv_filter(x, y) */
static void grad_filter(tape *t, const node *n, mtf_tensor *const *dw)
{
    mtf_tensor *x = n->in[0], *y = n->in[1];
    if (tape_wants(t, x)) tape_give(t, x, like(&op_conv_input, n, y, dw[0], &x->shape));
    if (tape_wants(t, y)) tape_give(t, y, like(&op_conv, n, x, dw[0], &y->shape));
}

/* ---- lowering ---- */

/* Needed of x for this processor's positions [b, e) of y: from b*step - before to (e-1)*step -
 * before + reach - 1.  Needed of y for its part [b, e) of x: all positions that touch it. */
static span_map touched(window_kind kind, const window_args *how, int i, int64_t taps)
{
    int64_t last = (taps - 1) * how->dilation[i], before = how->before[i];
    if (kind == WINDOW_INPUT)
        return (span_map){.mult = 1, .low = before - last, .high = before, .div = how->step[i]};
    return (span_map){.mult = how->step[i], .low = -before, .high = last - before, .div = 1};
}

/* Fetches the span of `far` that this processor's spatial part needs, and counts the padding from
 * where the span begins.  `far` is x, or y for the transpose; `near` is the other of the two. */
static bool reach_space(emitter *e, const mtf_tensor *far, const mtf_tensor *near,
                        const mtf_shape *filter, const slice *near_part, window_args *how,
                        slice *far_part)
{
    margin margins[MAX_SPATIAL];
    int    first = far->shape.ndims - 1 - how->nspatial;
    for (int i = 0; i < how->nspatial; i++)
        margins[i] = (margin){.dim = far->shape.dims[first + i].name,
                              .size = near->shape.dims[first + i].size,
                              .how = touched(how->kind, how, i, filter->dims[i].size)};
    TRY(reach_margins(e, far, how->nspatial, margins, far_part));
    for (int i = 0; i < how->nspatial; i++) {
        const margin *m = &margins[i];
        span          part = reach_part(e, near_part, m->dim, m->size), got = m->got;
        if (!reach_is_cut(near_part, m->dim)) continue;
        if (how->kind == WINDOW_INPUT)
            how->before[i] += got.size ? part.begin - got.begin * how->step[i] : 0;
        else
            how->before[i] += part.size ? got.begin - part.begin * how->step[i] : 0;
    }
    return true;
}

static bool lower_window(emitter *e, const node *n, window_kind kind, const slice *in, slice *out)
{
    window_args how = {
        .kind = kind, .nspatial = n->attrs[STRIDE].ints.n, .groups = n->attrs[GROUPS].i};
    slice a = in[0], b = in[1], want = out[0];
    for (int i = 0; i < how.nspatial; i++) {
        how.step[i] = n->attrs[STRIDE].ints.v[i];
        how.dilation[i] = n->attrs[DILATION].ints.v[i];
        how.before[i] = n->attrs[BEFORE].ints.v[i];
    }
    if (kind == WINDOW_FILTER)
        TRY(reach_space(e, n->in[0], n->in[1], &n->out[0]->shape, &b, &how, &a));
    else
        TRY(reach_space(e, n->in[0], n->out[0], &n->in[1]->shape, &want, &how, &a));
    bool wide = want.type != n->out[0]->type && !e->program->session->can.sums_windows;
    if (wide) TRY(emit_widened(e, &a) && emit_widened(e, &b));
    out[0] = emit_fresh(e, want.type, &want.shape);
    switch (kind) {
    case WINDOW_FORWARD: return emit_window(e, &how, &a, &b, &out[0]);
    case WINDOW_INPUT: return emit_window(e, &how, &out[0], &b, &a);
    default: return emit_window(e, &how, &a, &out[0], &b);
    }
}

static bool lower_conv(emitter *e, const node *n, const slice *in, slice *out)
{
    return lower_window(e, n, WINDOW_FORWARD, in, out);
}

static bool lower_input(emitter *e, const node *n, const slice *in, slice *out)
{
    return lower_window(e, n, WINDOW_INPUT, in, out);
}

static bool lower_filter(emitter *e, const node *n, const slice *in, slice *out)
{
    return lower_window(e, n, WINDOW_FILTER, in, out);
}

/* ---- sharding: batch, channels, outputs, space with its margins; taps are whole ---- */

typedef struct roles {
    bool batch, channels, outputs, space;
} roles;

/* A name that plays two roles, or stands for channels in groups, is kept whole. */
static roles roles_of(const node *n, const mtf_shape *x, const mtf_shape *w, const mtf_shape *y,
                      const char *dim)
{
    int   ns = n->attrs[STRIDE].ints.n, nbatch = x->ndims - ns - 1, uses = 0;
    roles r = {0};
    for (int i = 0; i < nbatch; i++) r.batch = r.batch || strcmp(x->dims[i].name, dim) == 0;
    for (int i = nbatch; i < nbatch + ns; i++)
        r.space =
            r.space || (strcmp(x->dims[i].name, dim) == 0 && strcmp(y->dims[i].name, dim) == 0);
    r.channels = strcmp(x->dims[x->ndims - 1].name, dim) == 0;
    r.outputs = strcmp(y->dims[y->ndims - 1].name, dim) == 0;
    for (int i = 0; i < ns + 2; i++) uses += strcmp(w->dims[i].name, dim) == 0;
    if (r.space && uses == 0 && !r.batch && !r.channels && !r.outputs)
        return (roles){.space = true};
    bool clean = n->attrs[GROUPS].i == 1 && !r.space && r.batch + r.channels + r.outputs == 1 &&
                 uses == !r.batch;
    if (r.channels && strcmp(w->dims[ns].name, dim) != 0) clean = false;
    if (r.outputs && strcmp(w->dims[ns + 1].name, dim) != 0) clean = false;
    return clean || (r.batch && uses == 0 && !r.channels && !r.outputs && !r.space) ? r
                                                                                    : (roles){0};
}

static dim_split split_conv(const node *n, const char *dim)
{
    roles r = roles_of(n, &n->in[0]->shape, &n->in[1]->shape, &n->out[0]->shape, dim);
    if (r.space) return SPLIT_OWN;
    return r.batch || r.outputs ? SPLIT_FREE : r.channels ? SPLIT_SUM : SPLIT_WHOLE;
}

static dim_split split_input(const node *n, const char *dim)
{
    roles r = roles_of(n, &n->out[0]->shape, &n->in[1]->shape, &n->in[0]->shape, dim);
    if (r.space) return SPLIT_OWN;
    return r.batch || r.channels ? SPLIT_FREE : r.outputs ? SPLIT_SUM : SPLIT_WHOLE;
}

static dim_split split_filter(const node *n, const char *dim)
{
    roles r = roles_of(n, &n->in[0]->shape, &n->out[0]->shape, &n->in[1]->shape, dim);
    if (r.space) return n->out[0]->type == MTF_BOOL ? SPLIT_WHOLE : SPLIT_OWN_SUM;
    return r.channels || r.outputs ? SPLIT_FREE : r.batch ? SPLIT_SUM : SPLIT_WHOLE;
}

/* ---- multiplications: each position of y with each tap and channel ---- */

static void product(const char *const names[MAX_SPATIAL], const mtf_shape *w, const mtf_shape *y,
                    op_product *p)
{
    int ns = w->ndims - 2;
    *p = (op_product){.name = names[ns - 1], .ndims = y->ndims};
    memcpy(p->dims, y->dims, sizeof y->dims);
    for (int i = 0; i <= ns; i++) p->dims[p->ndims++] = w->dims[i];
}

static void product_conv(const node *n, op_product *p)
{
    static const char *const names[] = {"conv1d/forward", "conv2d/forward", "conv3d/forward"};
    product(names, &n->in[1]->shape, &n->out[0]->shape, p);
}

static void product_input(const node *n, op_product *p)
{
    static const char *const names[] = {"conv1d/backprop_input", "conv2d/backprop_input",
                                        "conv3d/backprop_input"};
    product(names, &n->in[1]->shape, &n->in[0]->shape, p);
}

static void product_filter(const node *n, op_product *p)
{
    static const char *const names[] = {"conv1d/backprop_filter", "conv2d/backprop_filter",
                                        "conv3d/backprop_filter"};
    product(names, &n->out[0]->shape, &n->in[1]->shape, p);
}

const op op_conv = {
    .name = "conv",
    .says = "convolution with paddings spelled out; conv1d, conv2d and conv3d choose them; the "
            "annotation may give its dimensions other names",
    .args = "x, filter",
    .attrs = conv_attrs,
    .infer = infer_conv,
    .grad = grad_conv,
    .lower = lower_conv,
    .split = split_conv,
    .debt = debt_product,
    .product = product_conv};
const op op_conv_input = {
    .name = "conv_input",
    .says = "the transpose of conv with respect to x; the annotation gives x's shape",
    .args = "y, filter",
    .attrs = conv_attrs,
    .infer = infer_input,
    .grad = grad_input,
    .lower = lower_input,
    .split = split_input,
    .debt = debt_product,
    .product = product_input};
const op op_conv_filter = {
    .name = "conv_filter",
    .says = "the transpose of conv with respect to the filter; the annotation gives its shape",
    .args = "x, y",
    .attrs = conv_attrs,
    .infer = infer_filter,
    .grad = grad_filter,
    .lower = lower_filter,
    .split = split_filter,
    .debt = debt_product,
    .product = product_filter};
