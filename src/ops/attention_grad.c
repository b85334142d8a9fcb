/* The gradients of attention: weights are computed again from q, k, lse. */
#include <assert.h>
#include <string.h>

#include "base/dtype.h"
#include "ops/attention_op.h"
#include "ops/call.h"
#include "ops/catalogue.h"
#include "ops/reach.h"
#include "ops/tape.h"
#include "space/internal.h"

static bool infer(node *n)
{
    attention_roles r;
    TRY(attention_check(n, ATTENTION_GRAD_GIVEN, &r));
    mtf_shape   y = mtf_shape_plus(r.rows, mtf_shape(r.value));
    mtf_tensor *lse = n->in[ATTENTION_LSE], *dy = n->in[ATTENTION_DY],
               *delta = n->in[ATTENTION_DELTA];
    char             a[SHAPE_TEXT], b[SHAPE_TEXT];
    const mtf_shape *wrong = !shape_same_set(&lse->shape, &r.rows)     ? &lse->shape
                             : !shape_same_set(&delta->shape, &r.rows) ? &delta->shape
                             : !shape_same_set(&dy->shape, &y)         ? &dy->shape
                                                                       : NULL;
    if (wrong)
        return node_fail(n, ERR_SHAPE, "lse, dy and delta must be like the results, %s, not %s",
                         shape_text(&y, a), shape_text(wrong, b));
    for (int k = 0; k < 3; k++) TRY(node_output(n, n->in[k]->type, &n->in[k]->shape));
    if (r.in[ATTENTION_BIAS] < 0 || !n->attrs[AT_BIAS_GRAD].b) return true;
    const mtf_tensor *bias = n->in[r.in[ATTENTION_BIAS]];
    return node_output(n, bias->type, &bias->shape);
}

/* ---- by ordinary operations ---- */

/* x with its memory dimension under another name, where it is the query's too; [.., memory]. */
static mtf_tensor *apart(const attention_roles *r, mtf_tensor *x, mtf_dim memory)
{
    if (!x || !r->self || shape_find(&x->shape, r->memory.name) < 0) return x;
    mtf_shape shape = x->shape;
    shape.dims[shape_find(&shape, r->memory.name)] = memory;
    return mtf_reshape(x, shape);
}

static mtf_tensor *together(const attention_roles *r, mtf_tensor *x, mtf_dim memory)
{
    return r->self ? mtf_rename_dimension(x, memory.name, r->memory.name) : x;
}

static mtf_tensor *number_of(mtf_graph *g, int64_t x)
{
    return mtf_constant(g, (double)x, MTF_I32, mtf_shape());
}

static mtf_tensor *both(mtf_tensor *a, mtf_tensor *b)
{
    return a ? mtf_logical_and(a, b) : b;
}

/* Which queries see which positions of the memory; NULL: all. */
static mtf_tensor *visible(const node *n, const attention_roles *r, mtf_tensor *const *in,
                           mtf_dim memory)
{
    mtf_graph  *g = n->graph;
    mtf_tensor *seen = NULL;
    int64_t     min = n->attrs[AT_MIN].i, max = n->attrs[AT_MAX].i;
    if (min > INT32_MIN || max < INT32_MAX) {
        mtf_tensor *read = r->in[ATTENTION_READ] >= 0 ? in[r->in[ATTENTION_READ]]
                           : r->query.name            ? mtf_range(g, r->query, MTF_I32)
                                                      : number_of(g, 0);
        mtf_tensor *write = r->in[ATTENTION_WRITE] >= 0
                                ? apart(r, in[r->in[ATTENTION_WRITE]], memory)
                                : mtf_range(g, memory, MTF_I32);
        mtf_tensor *ahead = mtf_sub(write, read);
        if (max < INT32_MAX) seen = both(seen, mtf_less_equal(ahead, number_of(g, max)));
        if (min > INT32_MIN) seen = both(seen, mtf_greater_equal(ahead, number_of(g, min)));
    }
    if (r->in[ATTENTION_QUERY_SEGMENT] >= 0)
        seen = both(seen, mtf_equal(in[r->in[ATTENTION_QUERY_SEGMENT]],
                                    apart(r, in[r->in[ATTENTION_MEMORY_SEGMENT]], memory)));
    return seen;
}

/* The bias as [rows.., memory], or with fewer dimensions. */
static mtf_tensor *spread_bias(const node *n, const attention_roles *r, mtf_tensor *bias,
                               mtf_dim memory)
{
    if (r->bias_relative.name) {
        mtf_graph  *g = n->graph;
        mtf_tensor *at = mtf_range(g, memory, MTF_I32);
        int64_t     queries = r->query.name ? r->query.size : 1;
        if (r->query.name) at = mtf_sub(at, mtf_range(g, r->query, MTF_I32));
        return mtf_gather(bias, mtf_add(at, number_of(g, queries - 1)), r->bias_relative);
    }
    if (!bias || !r->bias_memory.name) return bias;
    mtf_shape shape = bias->shape;
    shape.dims[shape_find(&shape, r->bias_memory.name)] = memory;
    return mtf_reshape(bias, shape);
}

/* The transpose of spread_bias. */
static mtf_tensor *gather_bias(const node *n, const attention_roles *r, const mtf_tensor *bias,
                               mtf_tensor *ds, mtf_dim memory)
{
    mtf_shape shape = bias->shape;
    if (r->bias_relative.name) {
        mtf_graph  *g = n->graph;
        mtf_tensor *at = mtf_range(g, memory, MTF_I32);
        int64_t     queries = r->query.name ? r->query.size : 1;
        if (r->query.name) at = mtf_sub(at, mtf_range(g, r->query, MTF_I32));
        at = mtf_add(at, number_of(g, queries - 1));
        return mtf_reduce_sum_to(mtf_scatter_add(ds, at, r->bias_relative, mtf_shape()), shape);
    }
    int d = r->bias_memory.name ? shape_find(&shape, r->bias_memory.name) : -1;
    if (d < 0) return mtf_reduce_sum_to(ds, shape);
    shape.dims[d] = memory;
    ds = mtf_reduce_sum_to(ds, shape);
    return strcmp(r->bias_memory.name, memory.name) == 0
               ? ds
               : mtf_rename_dimension(ds, memory.name, r->bias_memory.name);
}

static bool shares(attr_names over, const char *dim)
{
    for (int k = 0; k < over.n; k++)
        if (strcmp(over.v[k], dim) == 0) return true;
    return false;
}

/* What dropout multiplies the weights by: the kernel's random numbers as a tensor. */
static mtf_tensor *dropout_factor(const node *n, const attention_roles *r, mtf_dtype type,
                                  mtf_dim memory)
{
    attr_names over = n->attrs[AT_DROPOUT_OVER].names;
    double     keep = 1 - n->attrs[AT_DROPOUT].r;
    mtf_shape  pairs = {0};
    for (int d = 0; d < r->rows.ndims; d++)
        if (!shares(over, r->rows.dims[d].name))
            pairs = mtf_shape_plus(pairs, mtf_shape(r->rows.dims[d]));
    if (r->self || !shares(over, r->memory.name)) pairs = mtf_shape_plus(pairs, mtf_shape(memory));
    const attr *all = n->attrs;
    attr        attrs[] = {{.shape = &pairs}, {.type = MTF_BOOL}, {.r = 0},
                           {.r = keep},       all[AT_STREAM],     {.b = false},
                           all[AT_PART_OF],   all[AT_WHOLE],      all[AT_PARTS]};
    node       *kept = node_new(n->graph, &op_random_uniform, n->nargs - r->first_iteration,
                                n->in + r->first_iteration, attrs, NULL);
    if (!kept) return NULL;
    return mtf_where(kept->out[0], mtf_constant(n->graph, 1 / keep, type, mtf_shape()),
                     mtf_constant(n->graph, 0, type, mtf_shape()));
}

/* Gradients by ordinary ops: d[0..3] are those of q, k, v and the bias, NULL where there is none. */
static bool attention_compose_grad(const node *n, const attention_roles *r, mtf_tensor *const *in,
                                   mtf_tensor *d[4])
{
    mtf_graph *g = n->graph;
    mtf_dtype  wide = in[ATTENTION_LSE]->type;
    mtf_dim    memory = r->memory;
    double     scale = n->attrs[AT_SCALE].r;
    if (r->self) memory = internal_dim(INTERNAL_MEMORY, memory.size, &r->rows);
    mtf_shape   pairs = mtf_shape_plus(r->rows, mtf_shape(memory));
    mtf_tensor *q = mtf_cast(in[0], wide), *k = apart(r, mtf_cast(in[1], wide), memory),
               *v = apart(r, mtf_cast(in[2], wide), memory), *dy = mtf_cast(in[ATTENTION_DY], wide),
               *bias = NULL;
    mtf_tensor *s = mtf_scale(mtf_einsum(pairs, q, k), scale);
    if (r->in[ATTENTION_BIAS] >= 0) {
        bias = in[r->in[ATTENTION_BIAS]];
        s = mtf_add(s, spread_bias(n, r, mtf_cast(bias, wide), memory));
    }
    mtf_tensor *below = mtf_sub(s, in[ATTENTION_LSE]), *seen = visible(n, r, in, memory);
    if (seen) below = mtf_where(seen, below, mtf_constant(g, NOTHING_SEEN, wide, mtf_shape()));
    mtf_tensor *p = mtf_exp(below);
    mtf_tensor *dp = mtf_einsum(pairs, dy, v), *kept = p;
    if (n->attrs[AT_DROPOUT].r > 0) {
        mtf_tensor *factor = dropout_factor(n, r, wide, memory);
        dp = mtf_multiply(dp, factor);
        kept = mtf_multiply(p, factor);
    }
    mtf_tensor *ds = mtf_multiply(p, mtf_sub(dp, in[ATTENTION_DELTA]));
    if (!graph_of(ds)) return false;
    mtf_shape of_k = k->shape, of_v = v->shape;
    d[0] = mtf_cast(mtf_scale(mtf_einsum(q->shape, ds, k), scale), in[0]->type);
    d[1] = mtf_cast(together(r, mtf_scale(mtf_einsum(of_k, ds, q), scale), memory), in[1]->type);
    d[2] = mtf_cast(together(r, mtf_einsum(of_v, kept, dy), memory), in[2]->type);
    d[3] = bias ? mtf_cast(gather_bias(n, r, bias, ds, memory), bias->type) : NULL;
    return d[0] && d[1] && d[2];
}

/* Gradients of gradients: differentiates the same gradients, composed of ordinary operations. */
static void grad(tape *t, const node *n, mtf_tensor *const *dy)
{
    attention_roles r = attention_roles_of(n, ATTENTION_GRAD_GIVEN);
    mtf_tensor     *d[4], *ys[4], *dys[4], *xs[ATTENTION_GRAD_GIVEN + 1],
        *dxs[ATTENTION_GRAD_GIVEN + 1], *late[ATTENTION_OPERANDS + MAX_NESTING];
    int ny = 0, nx = 0, from[ATTENTION_GRAD_GIVEN + 1];
    for (int o = 0; o < n->nout; o++)
        if (dy[o]) dys[ny++] = dy[o];
    /* Copies of the inputs, so that no path leads back to them, as from lse to q. */
    for (int i = 0; i < n->nargs; i++) {
        bool real = i < ATTENTION_GRAD_GIVEN || i == r.in[ATTENTION_BIAS];
        late[i] = real ? mtf_depend(n->in[i], ny, dys) : n->in[i];
        if (real && tape_wants(t, n->in[i])) from[nx] = i, xs[nx++] = late[i];
    }
    assert(n->nargs > ATTENTION_LSE);
    if (!attention_compose_grad(n, &r, late, d)) return;
    ny = 0;
    for (int o = 0; o < n->nout; o++)
        if (dy[o]) ys[ny++] = d[o];
    mtf_gradients(ny, ys, nx, xs, dys, dxs);
    for (int x = 0; x < nx; x++) tape_give(t, n->in[from[x]], dxs[x]);
}

/* ---- lowering ---- */

/* Makes a slice for a gradient, with the kernel's names and the last dimension contiguous.  A
 * complete result has the type of out; one that is summed here is as wide as its sum. */
static slice make(emitter *e, mtf_dtype type, const mtf_shape *shape, const char *dim,
                  const char *to)
{
    mtf_shape order = *shape, last = {.ndims = 1};
    int       d = dim ? shape_find(&order, dim) : -1;
    if (d >= 0) {
        last.dims[0] = order.dims[d];
        order = mtf_shape_plus(mtf_shape_minus(order, last), last);
    }
    slice s = emit_fresh(e, type, &order);
    if (d >= 0) s.shape.dims[order.ndims - 1].name = to;
    return s;
}

/* The gradient of a memory that is the query's own dimension, which is cut: `all` of it is summed
 * over processors, and this one computes the span `seen`. */
static bool seen_grad(emitter *e, const attention_roles *r, const attention_view *v,
                      const slice *out, const char *along, const char *to, slice *all, slice *seen)
{
    mtf_shape whole = out->shape;
    whole.dims[shape_find(&whole, r->memory.name)].size = r->memory.size;
    *all = make(e, dtype_compute(out->type), &whole, along, to);
    if (v->memory.size < r->memory.size) TRY(emit_fill(e, 0, all));
    *seen = slice_cut(all, r->memory.name, v->memory.begin, v->memory.size, 1);
    attention_rename(seen, r->memory.name, MEMORY_DIM);
    return true;
}

/* Converts from the kernel's names to the op's, and to out's type and order. */
static bool hand_over(emitter *e, const slice *made, const char *dim, const char *own, slice *out)
{
    slice s = *made;
    if (own) attention_rename(&s, own, dim);
    s = slice_as(&s, &out->shape);
    return emit_narrowed(e, &s, out);
}

static bool lower(emitter *e, const node *n, const slice *in, slice *out)
{
    attention_roles r = attention_roles_of(n, ATTENTION_GRAD_GIVEN);
    attention_view  v;
    int             niterations = n->nargs - r.first_iteration, nout = n->nout;
    bool            shared = r.self && reach_is_cut(&in[ATTENTION_Q], r.query.name);
    slice           all[2], made[4], bias = {0};
    TRY(attention_bring(e, n, &r, in, &in[ATTENTION_LSE], &v));
    made[0] = make(e, out[0].type, &out[0].shape, r.key.name, KEY_DIM);
    for (int k = 0; k < 2; k++) {
        const char *dim = k ? r.value.name : r.key.name, *to = k ? VALUE_DIM : KEY_DIM;
        if (shared) {
            TRY(seen_grad(e, &r, &v, &out[k + 1], dim, to, &all[k], &made[k + 1]));
            continue;
        }
        made[k + 1] = make(e, out[k + 1].type, &out[k + 1].shape, dim, to);
        attention_rename(&made[k + 1], r.memory.name, MEMORY_DIM);
    }
    if (nout > 3) {
        bias = make(e, dtype_compute(out[3].type), &out[3].shape, NULL, NULL);
        /* Some elements may belong only to pairs of other processors. */
        if (r.bias_relative.name || v.memory.size < r.memory.size) TRY(emit_fill(e, 0, &bias));
        made[3] = bias;
        attention_view_bias(&r, &v, &made[3]);
    }
    TRY(emit_attention(e, INSTR_ATTENTION_GRAD, &v.how, v.in, niterations, in + r.first_iteration,
                       nout, made));
    TRY(hand_over(e, &made[0], r.key.name, KEY_DIM, &out[0]));
    for (int k = 0; k < 2; k++) {
        const char *dim = k ? r.value.name : r.key.name, *own = k ? VALUE_DIM : KEY_DIM;
        if (shared) {
            const axis_list none = {0};
            TRY(emit_reduce_scatter(e, FOLD_SUM, r.memory, &none,
                                    &layout_find(e->layout, r.memory.name)->cut, &all[k]));
            made[k + 1] = all[k];
        } else {
            attention_rename(&made[k + 1], MEMORY_DIM, r.memory.name);
        }
        TRY(hand_over(e, &made[k + 1], dim, own, &out[k + 1]));
    }
    if (nout < 4) return true;
    if (shared && shape_find(&out[3].shape, r.query.name) < 0)
        TRY(emit_all_reduce(e, FOLD_SUM, cut_axes(&layout_find(e->layout, r.memory.name)->cut),
                            &bias));
    return hand_over(e, &bias, NULL, NULL, &out[3]);
}

/* ---- sharding ---- */

static dim_split split(const node *n, const char *dim)
{
    attention_roles r = attention_roles_of(n, ATTENTION_GRAD_GIVEN);
    if (attention_is_whole(n, &r, dim)) return SPLIT_WHOLE;
    if (r.self && strcmp(dim, r.memory.name) == 0) return SPLIT_OWN;
    for (int o = 0; o < n->nout; o++)
        if (shape_find(&n->out[o]->shape, dim) < 0) return SPLIT_SUM;
    return SPLIT_FREE;
}

/* Five products, of which three are along key and two along value. */
static void product(const node *n, op_product *p)
{
    attention_roles r = attention_roles_of(n, ATTENTION_GRAD_GIVEN);
    *p = (op_product){.name = "attention/backward", .ndims = r.rows.ndims};
    memcpy(p->dims, r.rows.dims, sizeof r.rows.dims);
    p->dims[p->ndims++] = r.memory;
    p->dims[p->ndims++] = (mtf_dim){r.key.name, 3 * r.key.size + 2 * r.value.size};
}

const op op_attention_grad = {
    .name = "attention_grad",
    .says = "gradients of attention's q, k, v and bias from lse, the gradient dy of y, and delta: "
            "the sum of dy y along value, less the gradient of lse",
    .args = "q, k, v, lse, dy, delta, [more...]",
    .results = "dq, dk, dv, [dbias]",
    .attrs = attention_grad_attrs,
    .infer = infer,
    .grad = grad,
    .lower = lower,
    .split = split,
    .product = product};
