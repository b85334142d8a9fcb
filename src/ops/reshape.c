/* Other views of the same elements: broadcast, transpose, reshape. */
#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/regroup.h"
#include "ops/splits.h"
#include "ops/tape.h"

static const attr_spec shaped[] = {{"shape", ATTR_SHAPE, NULL, "the output"}, {0}};

static bool wanted_shape(const node *n, mtf_shape *shape)
{
    if (!n->attrs[0].shape)
        return node_fail(n, ERR_SHAPE, "give the output's shape, as in  y: [a=2, b=3] = %s(x)",
                         n->op->name);
    *shape = *n->attrs[0].shape;
    return shape_check(shape, n->op->name, &n->graph->session->fault);
}

static bool finish_reshape(node *n, const mtf_shape *shape)
{
    TRY(node_output(n, n->in[0]->type, shape));
    n->attrs[0].shape = &n->out[0]->shape;
    return true;
}

/* ---- broadcast: new dimensions repeat ---- */

static bool infer_broadcast(node *n)
{
    mtf_shape shape = {0};
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
    return finish_reshape(n, &shape);
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
                         .flags = OP_MOVES | OP_F8,
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
    mtf_shape        shape = {0};
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
    return finish_reshape(n, &shape);
}

const op op_transpose = {.name = "transpose",
                         .says = "the same dimensions in another order",
                         .args = "x",
                         .attrs = shaped,
                         .infer = infer_transpose,
                         .grad = grad_same,
                         .flags = OP_MOVES | OP_F8,
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
    mtf_shape shape = {0};
    TRY(wanted_shape(n, &shape));
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (shape_size(&shape) != shape_size(&n->in[0]->shape))
        return node_fail(n, ERR_SHAPE, "\"%s\" %s has %lld elements but the output %s has %lld",
                         tensor_name(n->in[0]), shape_text(&n->in[0]->shape, a),
                         (long long)shape_size(&n->in[0]->shape), shape_text(&shape, b),
                         (long long)shape_size(&shape));
    return finish_reshape(n, &shape);
}

static void grad_reshape(tape *t, const node *n, mtf_tensor *const *dy)
{
    tape_give(t, n->in[0], mtf_reshape(dy[0], n->in[0]->shape));
}

static bool lower_reshape(emitter *e, const node *n, const slice *in, slice *out)
{
    unsigned cut = out[0].cut;
    out[0] = *in;
    return regroup(e, &n->in[0]->shape, &n->out[0]->shape, cut, &out[0]);
}

static dim_split split_reshape(const node *n, const char *dim)
{
    (void)n, (void)dim;
    return SPLIT_OWN;
}

const op op_reshape = {
    .name = "reshape",
    .says = "other dimensions over the same elements in row-major order; also renames",
    .args = "x",
    .attrs = shaped,
    .infer = infer_reshape,
    .grad = grad_reshape,
    .flags = OP_ANYWHERE | OP_MOVES | OP_REGROUPS | OP_F8,
    .lower = lower_reshape,
    .split = split_reshape,
    .debt = debt_sum};

mtf_tensor *mtf_reshape(mtf_tensor *x, mtf_shape shape)
{
    if (graph_of(x) && mtf_shape_equal(x->shape, shape)) return x;
    return node_unary(&op_reshape, x, &(attr){.shape = &shape});
}

/* All at once, so that names can be exchanged. */
static mtf_tensor *renamed(const op *o, mtf_tensor *x, int n, const char *const *from,
                           const char *const *to)
{
    if (!graph_of(x)) return NULL;
    fault    *f = &x->node->graph->session->fault;
    mtf_shape shape = x->shape;
    char      text[SHAPE_TEXT];
    for (int i = 0; i < n; i++) {
        mtf_dim dim;
        if (!call_dim(o, x, from[i], &dim)) return NULL;
        for (int k = 0; k < i; k++)
            if (strcmp(from[k], from[i]) == 0) {
                fail(f, ERR_SHAPE, "%s: \"%s\" gets two new names", o->name, from[i]);
                return NULL;
            }
        shape.dims[shape_find(&x->shape, from[i])].name = to[i];
    }
    for (int i = 0; i < n; i++)
        for (int d = 0; d < shape.ndims; d++)
            if (d != shape_find(&x->shape, from[i]) && strcmp(shape.dims[d].name, to[i]) == 0) {
                bool before = shape_find(&x->shape, to[i]) >= 0;
                fail(f, ERR_SHAPE, "%s: \"%s\" %s %s \"%s\"%s; give \"%s\" another name", o->name,
                     tensor_name(x), shape_text(&x->shape, text),
                     before ? "has a dimension" : "would have two dimensions", to[i],
                     before ? " already" : "", from[i]);
                return NULL;
            }
    return shape_check(&shape, o->name, f) ? mtf_reshape(x, shape) : NULL;
}

mtf_tensor *mtf_rename(mtf_tensor *x, int n, const char *const *from, const char *const *to)
{
    return renamed(&op_rename, x, n, from, to);
}

mtf_tensor *mtf_rename_dimension(mtf_tensor *x, const char *from, const char *to)
{
    return renamed(&op_rename_dimension, x, 1, &from, &to);
}

mtf_tensor *mtf_replace_dimensions(mtf_tensor *x, mtf_shape old_dims, mtf_shape new_dims)
{
    mtf_graph *g = graph_of(x);
    if (!g) return NULL;
    mtf_shape shape = mtf_shape_replace(x->shape, old_dims, new_dims);
    char      a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (shape.ndims == SHAPE_MISSING) {
        fail(&g->session->fault, ERR_SHAPE,
             "replace_dimensions: the old dimensions %s are not adjacent in \"%s\" %s",
             shape_text(&old_dims, a), tensor_name(x), shape_text(&x->shape, b));
        return NULL;
    }
    if (!shape_check(&shape, "replace_dimensions", &g->session->fault)) return NULL;
    return mtf_reshape(x, shape);
}

static void expand_rename(op_call *c)
{
    attr_names from = c->attrs[0].names, to = c->attrs[1].names;
    if (from.n == to.n && from.n)
        c->out[0] = mtf_rename(c->in[0], from.n, from.v, to.v);
    else
        fail(&c->graph->session->fault, ERR_USAGE, "rename: from has %d name%s and to has %d",
             from.n, from.n == 1 ? "" : "s", to.n);
}

const op op_rename = {
    .name = "rename",
    .says = "gives dimensions other names; sizes, order and elements stay",
    .args = "x",
    .attrs =
        (const attr_spec[]){{"from", ATTR_NAMES, NULL, "the old name, or several in parentheses"},
                            {"to", ATTR_NAMES, NULL, "the new ones, in the same order"},
                            {0}},
    .expand = expand_rename};

static void expand_rename_dimension(op_call *c)
{
    c->out[0] = mtf_rename_dimension(c->in[0], c->attrs[0].text, c->attrs[1].text);
}

const op op_rename_dimension = {.name = "rename_dimension",
                                .says = "gives one dimension another name; rename does the same",
                                .args = "x",
                                .attrs =
                                    (const attr_spec[]){{"from", ATTR_WORD, NULL, "the old name"},
                                                        {"to", ATTR_WORD, NULL, "the new name"},
                                                        {0}},
                                .expand = expand_rename_dimension};
