/* Windows over a dimension, and pooling made of them.
 *
 * `window` looks at x through overlapping windows: a view that moves nothing.
 * Its transpose, overlap_add, sums the windows back.  Pooling is a reduction
 * over the windows' inside, so gradients and ties follow from the reductions.
 */
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "base/whole.h"
#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/reach.h"
#include "ops/reduce.h"
#include "ops/splits.h"
#include "ops/tape.h"
#include "space/internal.h"

enum { DIM, TAPS, STEP, DILATION };

static bool check_step(const node *n, int64_t step, int64_t dilation)
{
    if (step >= 1 && dilation >= 1 && step <= 1 << 20 && dilation <= 1 << 20) return true;
    return node_fail(n, ERR_SHAPE, "step and dilation must be 1 to %d", 1 << 20);
}

/* ---- window ---- */

static bool infer_window(node *n)
{
    mtf_dim dim, taps = n->attrs[TAPS].dim;
    TRY(check_step(n, n->attrs[STEP].i, n->attrs[DILATION].i));
    TRY(call_dim(n->op, n->in[0], n->attrs[DIM].text, &dim));
    int64_t reach = (taps.size - 1) * n->attrs[DILATION].i + 1;
    if (taps.size < 1 || reach > dim.size)
        return node_fail(n, ERR_SHAPE,
                         "a window of %lld taps reaches beyond dimension \"%s\" of size %lld",
                         (long long)taps.size, dim.name, (long long)dim.size);
    mtf_shape shape =
        mtf_shape_resize(n->in[0]->shape, dim.name, (dim.size - reach) / n->attrs[STEP].i + 1);
    if (shape_find(&shape, taps.name) >= 0)
        return node_fail(n, ERR_SHAPE, "\"%s\" has a dimension \"%s\" already",
                         tensor_name(n->in[0]), taps.name);
    shape = mtf_shape_plus(shape, mtf_shape(taps));
    return node_output(n, n->in[0]->type, &shape);
}

static void grad_window(tape *t, const node *n, mtf_tensor *const *dy)
{
    const char *dim = n->attrs[DIM].text;
    attr        attrs[] = {{.text = dim},
                           {.text = n->attrs[TAPS].dim.name},
                           {.i = mtf_shape_dim(n->in[0]->shape, dim).size},
                           {.i = n->attrs[STEP].i},
                           {.i = n->attrs[DILATION].i}};
    tape_give(t, n->in[0], node_unary(&op_overlap_add, dy[0], attrs));
}

/* The taps stand last and step through the same buffer as the windows. */
static slice windowed(const slice *s, const char *dim, const mtf_shape *shape, const char *taps,
                      int64_t step, int64_t dilation)
{
    slice   out = slice_as(s, shape);
    int64_t stride = s->stride[shape_find(&s->shape, dim)];
    out.stride[shape_find(shape, dim)] = stride * step;
    out.stride[shape_find(shape, taps)] = stride * dilation;
    return out;
}

static bool lower_window(emitter *e, const node *n, const slice *in, slice *out)
{
    const char *dim = n->attrs[DIM].text;
    int64_t     size = mtf_shape_dim(n->out[0]->shape, dim).size;
    int64_t     last = (n->attrs[TAPS].dim.size - 1) * n->attrs[DILATION].i;
    slice       x = *in, want = out[0];
    span        got;
    TRY(reach(e, n->in[0], dim, size, &(span_map){.mult = n->attrs[STEP].i, .high = last, .div = 1},
              &x, &got));
    out[0] = windowed(&x, dim, &want.shape, n->attrs[TAPS].dim.name, n->attrs[STEP].i,
                      n->attrs[DILATION].i);
    return true;
}

static dim_split split_window(const node *n, const char *dim)
{
    return strcmp(n->attrs[TAPS].dim.name, dim) == 0 ? SPLIT_WHOLE : split_own_first(n, dim);
}

const op op_window = {
    .name = "window",
    .says = "all full windows along dim, their inside along a new last dimension",
    .args = "x",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"},
                                 {"taps", ATTR_DIM, NULL, "the new dimension: size of a window"},
                                 {"step", ATTR_INT, "1", "distance of windows"},
                                 {"dilation", ATTR_INT, "1", "distance of taps"},
                                 {0}},
    .flags = OP_MOVES,
    .infer = infer_window,
    .grad = grad_window,
    .lower = lower_window,
    .split = split_window,
    .debt = debt_sum};

/* ---- overlap_add ---- */

enum { TAP_NAME = 1, SIZE, ADD_STEP, ADD_DILATION };

static bool infer_overlap_add(node *n)
{
    mtf_dim dim, taps;
    int64_t step = n->attrs[ADD_STEP].i, dilation = n->attrs[ADD_DILATION].i,
            size = n->attrs[SIZE].i;
    TRY(check_step(n, step, dilation));
    TRY(call_dim(n->op, n->in[0], n->attrs[DIM].text, &dim));
    TRY(call_dim(n->op, n->in[0], n->attrs[TAP_NAME].text, &taps));
    if (strcmp(dim.name, taps.name) == 0)
        return node_fail(n, ERR_SHAPE, "dim and taps must differ");
    int64_t reach = (dim.size - 1) * step + (taps.size - 1) * dilation + 1;
    if (size < reach)
        return node_fail(
            n, ERR_SHAPE, "%lld windows of %lld taps need a size of %lld or more, not %lld",
            (long long)dim.size, (long long)taps.size, (long long)reach, (long long)size);
    mtf_shape shape =
        mtf_shape_minus(mtf_shape_resize(n->in[0]->shape, dim.name, size), mtf_shape(taps));
    return node_output(n, n->in[0]->type, &shape);
}

static void grad_overlap_add(tape *t, const node *n, mtf_tensor *const *dy)
{
    const char *dim = n->attrs[DIM].text;
    mtf_dim     mine = mtf_shape_dim(n->in[0]->shape, dim),
            taps = mtf_shape_dim(n->in[0]->shape, n->attrs[TAP_NAME].text);
    attr attrs[] = {
        {.text = dim}, {.dim = taps}, {.i = n->attrs[ADD_STEP].i}, {.i = n->attrs[ADD_DILATION].i}};
    mtf_tensor *windows = node_unary(&op_window, dy[0], attrs);
    /* There may be room for more windows than were added. */
    tape_give(t, n->in[0], mtf_slice(windows, dim, 0, mine.size, 1));
}

static bool lower_overlap_add(emitter *e, const node *n, const slice *in, slice *out)
{
    const char *dim = n->attrs[DIM].text, *taps = n->attrs[TAP_NAME].text;
    int64_t     step = n->attrs[ADD_STEP].i, dilation = n->attrs[ADD_DILATION].i,
            size = n->attrs[SIZE].i;
    int64_t last = (mtf_shape_dim(n->in[0]->shape, taps).size - 1) * dilation;
    span    part = reach_part(e, &out[0], dim, size), got;
    slice   y = *in, want = out[0];
    TRY(reach(e, n->in[0], dim, size, &(span_map){.mult = 1, .low = -last, .high = 0, .div = step},
              &y, &got));
    /* The windows that touch this part may reach beyond it: room for all of them, then a view. */
    int64_t first = got.size && got.begin * step < part.begin ? got.begin * step : part.begin;
    int64_t end = part.begin + part.size, reach_end = (got.begin + got.size - 1) * step + last + 1;
    if (got.size && reach_end > end) end = reach_end;
    mtf_shape room = want.shape;
    room.dims[shape_find(&room, dim)].size = end - first;
    /* Short floats are summed in wider ones, as everywhere. */
    slice all = emit_fresh(e, dtype_compute(want.type), &room);
    slice kept = slice_cut(&all, dim, part.begin - first, part.size, 1);
    TRY(emit_widened(e, &y) && emit_fill(e, 0, &all));
    if (!got.size) return emit_narrowed(e, &kept, &out[0]);
    /* Taps outermost: at one tap no two windows overlap. */
    mtf_shape order = y.shape;
    int       t = shape_find(&order, taps);
    mtf_dim   tap = order.dims[t];
    memmove(&order.dims[1], &order.dims[0], sizeof(mtf_dim) * (size_t)t);
    order.dims[0] = tap;
    slice from = slice_as(&y, &order), base = all;
    base.offset += (got.begin * step - first) * all.stride[shape_find(&all.shape, dim)];
    slice to = windowed(&base, dim, &order, taps, step, dilation);
    return emit_add_into(e, &from, &to) && emit_narrowed(e, &kept, &out[0]);
}

static dim_split split_overlap_add(const node *n, const char *dim)
{
    return strcmp(n->attrs[TAP_NAME].text, dim) == 0 ? SPLIT_WHOLE : split_own_first(n, dim);
}

const op op_overlap_add = {
    .name = "overlap_add",
    .says = "sums windows back to where they came from: the transpose of window",
    .args = "y",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension of windows"},
                                 {"taps", ATTR_WORD, NULL, "the dimension of their inside"},
                                 {"size", ATTR_INT, NULL, "size of dim in the result"},
                                 {"step", ATTR_INT, "1", "distance of windows"},
                                 {"dilation", ATTR_INT, "1", "distance of taps"},
                                 {0}},
    .infer = infer_overlap_add,
    .grad = grad_overlap_add,
    .lower = lower_overlap_add,
    .split = split_overlap_add,
    .debt = debt_sum};

/* ---- pooling ---- */

typedef struct pool {
    int     ns;
    int64_t window[3], stride[3], before[3], after[3];
} pool;

static bool resolve(mtf_tensor *x, int ns, const mtf_pool_opts *o, const char *name, pool *p)
{
    fault *f = &graph_of(x)->session->fault;
    if (ns < 1 || ns > 3 || x->shape.ndims < ns + 1)
        return fail(f, ERR_SHAPE, "%s: \"%s\" must be [batch.., 1 to 3 spatial, channels]", name,
                    tensor_name(x));
    *p = (pool){.ns = ns};
    for (int i = 0; i < ns; i++) {
        mtf_dim dim = x->shape.dims[x->shape.ndims - 1 - ns + i];
        int64_t k = o->window[i], s = o->stride[i] ? o->stride[i] : k;
        if (k < 1 || s < 1)
            return fail(f, ERR_SHAPE, "%s: windows and strides are 1 or more", name);
        p->window[i] = k;
        p->stride[i] = s;
        int64_t total = o->same ? (ceil_div(dim.size, s) - 1) * s + k - dim.size : 0;
        if (total > 0) p->before[i] = total / 2, p->after[i] = total - total / 2;
        if (k > dim.size + p->before[i] + p->after[i])
            return fail(f, ERR_SHAPE,
                        "%s: a window of %lld is larger than dimension \"%s\" of size %lld", name,
                        (long long)k, dim.name, (long long)dim.size);
    }
    return true;
}

/* Reduces the windows of x; padding holds `value`.  One dimension after the other, so that what is
 * combined, and fetched from neighbours, is already reduced along the others.  The last goes first:
 * of equal elements the lowest index stays. */
static mtf_tensor *pooled(mtf_tensor *x, const pool *p, double value,
                          mtf_tensor *(*reduce)(mtf_tensor *, mtf_shape))
{
    for (int i = p->ns - 1; i >= 0 && x; i--) {
        const char *dim = x->shape.dims[x->shape.ndims - 1 - p->ns + i].name;
        mtf_dim     tap = internal_dim(INTERNAL_TAP, p->window[i], &x->shape);
        if (p->before[i] || p->after[i])
            x = mtf_pad(
                x, dim,
                &(mtf_pad_opts){.before = p->before[i], .after = p->after[i], .value = value});
        attr attrs[] = {{.text = dim}, {.dim = tap}, {.i = p->stride[i]}, {.i = 1}};
        x = reduce(node_unary(&op_window, x, attrs), mtf_shape(tap));
    }
    return x;
}

mtf_tensor *mtf_max_pool(mtf_tensor *x, int spatial, const mtf_pool_opts *opts)
{
    pool p = {0};
    if (!graph_of(x) || !resolve(x, spatial, opts, "max_pool", &p)) return NULL;
    bool   real = dtype_is_float(x->type);
    double lowest = real ? -(double)INFINITY : x->type == MTF_I32 ? INT32_MIN : (double)INT64_MIN;
    return pooled(x, &p, lowest, mtf_reduce_max);
}

/* Padding counts neither in the sum nor in the number of elements.  Sums of 16-bit numbers are
 * kept in f32 until they are means. */
mtf_tensor *mtf_avg_pool(mtf_tensor *x, int spatial, const mtf_pool_opts *opts)
{
    pool    p = {0};
    int64_t taps = 1;
    if (!graph_of(x) || !resolve(x, spatial, opts, "avg_pool", &p)) return NULL;
    mtf_dtype   type = x->type, wide = mtf_dtype_bytes(type) == 2 ? MTF_F32 : type;
    mtf_tensor *sum = pooled(mtf_cast(x, wide), &p, 0, mtf_reduce_sum);
    for (int i = 0; i < p.ns; i++) taps *= p.window[i];
    if (!opts->same) return mtf_cast(mean_of_sum(sum, (double)taps), type);
    mtf_shape   space = shape_of(spatial, x->shape.dims + x->shape.ndims - 1 - spatial);
    mtf_dim     one = internal_dim(INTERNAL_ONE, 1, &space);
    mtf_tensor *ones = mtf_ones(graph_of(x), wide, mtf_shape_plus(space, mtf_shape(one)));
    mtf_tensor *count = ones ? pooled(ones, &p, 0, mtf_reduce_sum) : NULL;
    if (!count) return NULL;
    count = mtf_reshape(count, mtf_shape_minus(count->shape, mtf_shape(one)));
    return mtf_cast(mtf_divide(sum, count), type);
}

static void expand_pool(op_call *c, mtf_tensor *(*build)(mtf_tensor *, int, const mtf_pool_opts *))
{
    fault        *f = &c->graph->session->fault;
    attr_ints     window = c->attrs[0].ints, stride = c->attrs[1].ints;
    mtf_pool_opts o = {.same = strcmp(c->attrs[2].text, "same") == 0};
    if (window.n < 1 || window.n > 3 || (stride.n && stride.n != window.n)) {
        fail(f, ERR_SHAPE,
             "%s: window and stride have one number for each of 1 to 3 spatial dimensions",
             c->op->name);
        return;
    }
    if (!o.same && strcmp(c->attrs[2].text, "valid") != 0) {
        fail(f, ERR_USAGE, "%s: padding is same or valid, not \"%s\"", c->op->name,
             c->attrs[2].text);
        return;
    }
    for (int i = 0; i < window.n; i++) {
        if (stride.n && stride.v[i] == 0) { /* in C, the window's size */
            fail(f, ERR_SHAPE, "%s: stride has a 0; its numbers are 1 or more", c->op->name);
            return;
        }
        o.window[i] = window.v[i];
        o.stride[i] = stride.n ? stride.v[i] : 0;
    }
    c->out[0] = build(c->in[0], window.n, &o);
}

static void expand_max_pool(op_call *c)
{
    expand_pool(c, mtf_max_pool);
}

static void expand_avg_pool(op_call *c)
{
    expand_pool(c, mtf_avg_pool);
}

static const attr_spec pool_attrs[] = {
    {"window", ATTR_INTS, "(2, 2)", "one size per spatial dimension"},
    {"stride", ATTR_INTS, "()", "default: the window"},
    {"padding", ATTR_WORD, "valid", "valid or same"},
    {0}};
const op op_max_pool = {.name = "max_pool",
                        .says = "largest element of each window of x [batch.., spatial.., "
                                "channels]; of equal ones the first receives the gradient",
                        .args = "x",
                        .attrs = pool_attrs,
                        .expand = expand_max_pool};
const op op_avg_pool = {
    .name = "avg_pool",
    .says = "mean of each window of x [batch.., spatial.., channels]; padding does not count",
    .args = "x",
    .attrs = pool_attrs,
    .expand = expand_avg_pool};
