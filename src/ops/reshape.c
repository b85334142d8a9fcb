/* Other views of the same elements: broadcast, transpose, reshape. */
#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/reach.h"
#include "ops/splits.h"
#include "ops/tape.h"

static const attr_spec shaped[] = {{"shape", ATTR_SHAPE, NULL, "the output"}, {0}};

static bool wanted_shape(const node *n, mtf_shape *shape)
{
    if (!n->attrs[0].shape)
        return node_fail(n, ERR_SHAPE, "say the output's shape, as in  y: [a=2, b=3] = %s(x)",
                         n->op->name);
    *shape = *n->attrs[0].shape;
    return shape_check(shape, n->op->name, &n->graph->session->fault);
}

static bool finish(node *n, const mtf_shape *shape)
{
    TRY(node_output(n, n->in[0]->type, shape));
    n->attrs[0].shape = &n->out[0]->shape;
    return true;
}

/* ---- broadcast: new dimensions repeat ---- */

static bool infer_broadcast(node *n)
{
    mtf_shape shape;
    TRY(wanted_shape(n, &shape));
    const mtf_shape *x = &n->in[0]->shape;
    for (int i = 0; i < x->ndims; i++) {
        mtf_dim d = mtf_shape_dim(shape, x->dims[i].name);
        if (!d.name || d.size != x->dims[i].size)
            return node_fail(
                n, ERR_SHAPE,
                "\"%s\" has dimension \"%s\" of size %lld; the output must have it too",
                tensor_name(n->in[0]), x->dims[i].name, (long long)x->dims[i].size);
    }
    return finish(n, &shape);
}

static void grad_same(tape *t, const node *n, mtf_tensor *const *dy)
{
    tape_give(t, n->in[0], dy[0]); /* the tape sums and transposes */
}

static bool lower_view(emitter *e, const node *n, const slice *in, slice *out)
{
    (void)e, (void)n;
    mtf_shape shape = out[0].shape;
    out[0] = slice_as(in, &shape);
    return true;
}

const op op_broadcast = {.name = "broadcast",
                         .says = "repeats x along the dimensions it lacks",
                         .args = "x",
                         .attrs = shaped,
                         .infer = infer_broadcast,
                         .grad = grad_same,
                         .lower = lower_view,
                         .split = split_free,
                         .debt = debt_sum};

mtf_tensor *mtf_broadcast(mtf_tensor *x, mtf_shape shape)
{
    if (graph_of(x) && mtf_shape_equal(x->shape, shape)) return x;
    return node_unary(&op_broadcast, x, &(attr){.shape = &shape});
}

/* ---- transpose: the same dimensions in another order ---- */

static bool infer_transpose(node *n)
{
    mtf_shape        shape;
    const mtf_shape *x = &n->in[0]->shape;
    TRY(wanted_shape(n, &shape));
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (!shape_same_set(x, &shape))
        return node_fail(n, ERR_SHAPE, "\"%s\" %s and the output %s must have the same dimensions",
                         tensor_name(n->in[0]), shape_text(x, a), shape_text(&shape, b));
    for (int i = 0; i < shape.ndims; i++)
        if (mtf_shape_dim(*x, shape.dims[i].name).size != shape.dims[i].size)
            return node_fail(n, ERR_SHAPE,
                             "dimension \"%s\" differs in size between \"%s\" %s and the output %s",
                             shape.dims[i].name, tensor_name(n->in[0]), shape_text(x, a),
                             shape_text(&shape, b));
    return finish(n, &shape);
}

const op op_transpose = {.name = "transpose",
                         .says = "the same dimensions in another order",
                         .args = "x",
                         .attrs = shaped,
                         .infer = infer_transpose,
                         .grad = grad_same,
                         .lower = lower_view,
                         .split = split_free,
                         .debt = debt_sum};

mtf_tensor *mtf_transpose(mtf_tensor *x, mtf_shape shape)
{
    if (graph_of(x) && mtf_shape_equal(x->shape, shape)) return x;
    return node_unary(&op_transpose, x, &(attr){.shape = &shape});
}

/* ---- reshape: row-major order stays, dimensions change ---- */

static bool infer_reshape(node *n)
{
    mtf_shape shape;
    TRY(wanted_shape(n, &shape));
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (mtf_shape_size(shape) != mtf_shape_size(n->in[0]->shape))
        return node_fail(n, ERR_SHAPE, "\"%s\" %s has %lld elements but the output %s has %lld",
                         tensor_name(n->in[0]), shape_text(&n->in[0]->shape, a),
                         (long long)mtf_shape_size(n->in[0]->shape), shape_text(&shape, b),
                         (long long)mtf_shape_size(shape));
    return finish(n, &shape);
}

static void grad_reshape(tape *t, const node *n, mtf_tensor *const *dy)
{
    tape_give(t, n->in[0], mtf_reshape(dy[0], n->in[0]->shape));
}

/* The same sizes under other names: what was cut one way is to be cut another. */
static bool renames(const node *n)
{
    const mtf_shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    bool             same = x->ndims == y->ndims;
    for (int i = 0; same && i < x->ndims; i++) same = x->dims[i].size == y->dims[i].size;
    return same;
}

static bool recut(emitter *e, const node *n, unsigned to_cut, slice *x)
{
    const mtf_shape *old = &n->in[0]->shape, *new = &n->out[0]->shape;
    placement        from = {0}, to = {0};
    bool             moves = false;
    for (int i = 0; i < old->ndims; i++) {
        if (x->cut >> i & 1) from.dim[i] = layout_find(e->layout, old->dims[i].name)->cut;
        if (to_cut >> i & 1) to.dim[i] = layout_find(e->layout, new->dims[i].name)->cut;
        moves = moves || !cut_equal(&from.dim[i], &to.dim[i]);
    }
    return !moves || emit_exchange(e, old, &from, &to, x);
}

static bool lower_reshape(emitter *e, const node *n, const slice *in, slice *out)
{
    slice     x = *in;
    mtf_shape shape = out[0].shape;
    if (e->layout && renames(n)) TRY(recut(e, n, out[0].cut, &x));
    if (slice_reshape(&x, &shape, &out[0])) return true;
    return emit_dense(e, &x) && slice_reshape(&x, &shape, &out[0]);
}

/* Elements before dimension i in row-major order. */
static int64_t product_before(const mtf_shape *s, int i)
{
    int64_t product = 1;
    for (int k = 0; k < i; k++) product *= s->dims[k].size;
    return product;
}

/* A dimension that stands at the same boundary in both shapes stays by itself. */
static dim_split split_reshape(const node *n, const char *dim)
{
    const mtf_shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    int              i = mtf_shape_find(*x, dim), o = mtf_shape_find(*y, dim);
    if (renames(n)) return SPLIT_OWN;
    if (i < 0 || o < 0 || x->dims[i].size != y->dims[o].size) return SPLIT_WHOLE;
    return product_before(x, i) == product_before(y, o) ? SPLIT_FREE : SPLIT_WHOLE;
}

const op op_reshape = {
    .name = "reshape",
    .says = "other dimensions over the same elements in row-major order; also renames",
    .args = "x",
    .attrs = shaped,
    .infer = infer_reshape,
    .grad = grad_reshape,
    .lower = lower_reshape,
    .split = split_reshape,
    .debt = debt_sum};

mtf_tensor *mtf_reshape(mtf_tensor *x, mtf_shape shape)
{
    if (graph_of(x) && mtf_shape_equal(x->shape, shape)) return x;
    return node_unary(&op_reshape, x, &(attr){.shape = &shape});
}

mtf_tensor *mtf_rename_dimension(mtf_tensor *x, const char *from, const char *to)
{
    mtf_dim dim;
    if (!call_dim(&op_rename_dimension, x, from, &dim)) return NULL;
    mtf_shape shape = mtf_shape_rename(x->shape, from, to);
    fault    *f = &x->node->graph->session->fault;
    char      text[SHAPE_TEXT];
    if (shape.ndims == SHAPE_DUPLICATE) /* the first error is kept: this one */
        fail(f, ERR_SHAPE, "%s: \"%s\" %s has a dimension \"%s\" already; give \"%s\" another name",
             op_rename_dimension.name, tensor_name(x), shape_text(&x->shape, text), to, from);
    return shape_check(&shape, op_rename_dimension.name, f) ? mtf_reshape(x, shape) : NULL;
}

mtf_tensor *mtf_replace_dimensions(mtf_tensor *x, mtf_shape old_dims, mtf_shape new_dims)
{
    mtf_graph *g = graph_of(x);
    if (!g) return NULL;
    mtf_shape shape = mtf_shape_replace(x->shape, old_dims, new_dims);
    char      a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (shape.ndims == SHAPE_MISSING) {
        fail(&g->session->fault, ERR_SHAPE,
             "replace_dimensions: the old dimensions %s do not stand side by side in \"%s\" %s",
             shape_text(&old_dims, a), tensor_name(x), shape_text(&x->shape, b));
        return NULL;
    }
    if (!shape_check(&shape, "replace_dimensions", &g->session->fault)) return NULL;
    return mtf_reshape(x, shape);
}

static void expand_rename(op_call *c)
{
    c->out[0] = mtf_rename_dimension(c->in[0], c->attrs[0].text, c->attrs[1].text);
}

const op op_rename_dimension = {.name = "rename_dimension",
                                .says = "gives a dimension another name",
                                .args = "x",
                                .attrs =
                                    (const attr_spec[]){{"from", ATTR_WORD, NULL, "the old name"},
                                                        {"to", ATTR_WORD, NULL, "the new name"},
                                                        {0}},
                                .expand = expand_rename};
