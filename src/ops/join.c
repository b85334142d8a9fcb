/* Concatenation and its relatives: concat, split, stack, unstack. */
#include <string.h>

#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/reach.h"
#include "ops/splits.h"
#include "ops/tape.h"

/* ---- concat ---- */

static bool infer_concat(node *n)
{
    mtf_dim dim;
    TRY(node_needs_same_type(n) && call_dim(n->op, n->in[0], n->attrs[0].text, &dim));
    mtf_shape shape = n->in[0]->shape;
    int64_t   size = 0;
    for (int i = 0; i < n->nargs; i++) {
        mtf_dim mine;
        TRY(call_dim(n->op, n->in[i], dim.name, &mine));
        char a[SHAPE_TEXT], b[SHAPE_TEXT];
        if (!mtf_shape_equal(mtf_shape_resize(n->in[i]->shape, dim.name, dim.size), shape))
            return node_fail(n, ERR_SHAPE,
                             "\"%s\" %s and \"%s\" %s must agree in all but the size of \"%s\"",
                             tensor_name(n->in[0]), shape_text(&n->in[0]->shape, a),
                             tensor_name(n->in[i]), shape_text(&n->in[i]->shape, b), dim.name);
        size += mine.size;
    }
    shape = mtf_shape_resize(shape, dim.name, size);
    return node_output(n, n->in[0]->type, &shape);
}

static void grad_concat(tape *t, const node *n, mtf_tensor *const *dy)
{
    const char *dim = n->attrs[0].text;
    int64_t     at = 0;
    for (int i = 0; i < n->nargs; i++) {
        int64_t size = mtf_shape_dim(n->in[i]->shape, dim).size;
        if (tape_wants(t, n->in[i])) tape_give(t, n->in[i], mtf_slice(dy[0], dim, at, size, 1));
        at += size;
    }
}

static bool lower_concat(emitter *e, const node *n, const slice *in, slice *out)
{
    const char *dim = n->attrs[0].text;
    int64_t     at = 0, all = mtf_shape_dim(n->out[0]->shape, dim).size;
    span        part = reach_part(e, &out[0], dim, all), got;
    out[0] = emit_fresh(e, out[0].type, &out[0].shape);
    for (int i = 0; i < n->nargs; i++) {
        slice x = in[i];
        TRY(reach(e, n->in[i], dim, all, &(span_map){.mult = 1, .low = -at, .high = -at, .div = 1},
                  &x, &got));
        slice to = slice_cut(&out[0], dim, at + got.begin - part.begin, got.size, 1);
        if (got.size) TRY(emit_move(e, &x, &to));
        at += mtf_shape_dim(n->in[i]->shape, dim).size;
    }
    return true;
}

const op op_concat = {.name = "concat",
                      .says = "its inputs one after the other along dim",
                      .args = "xs...",
                      .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"}, {0}},
                      .flags = OP_MOVES,
                      .infer = infer_concat,
                      .grad = grad_concat,
                      .lower = lower_concat,
                      .split = split_own_first,
                      .debt = debt_sum};

mtf_tensor *mtf_concat(const char *dim, int n, mtf_tensor *const *xs)
{
    return node_one(&op_concat, n, xs, &(attr){.text = dim});
}

/* ---- split: slices ---- */

void mtf_split(mtf_tensor *x, mtf_dim dim, int n, const int64_t *sizes, mtf_tensor **parts)
{
    for (int i = 0; i < n; i++) parts[i] = NULL;
    mtf_dim mine;
    if (!call_dim(&op_split, x, dim.name, &mine)) return;
    int64_t sum = 0, at = 0;
    for (int i = 0; i < n; i++) sum += sizes ? sizes[i] : mine.size / n;
    if (n < 1 || sum != mine.size) {
        fail(&graph_of(x)->session->fault, ERR_SHAPE,
             "split: %d parts of together %lld do not make up dimension \"%s\" of size %lld", n,
             (long long)sum, mine.name, (long long)mine.size);
        return;
    }
    for (int i = 0; i < n; i++) {
        int64_t size = sizes ? sizes[i] : mine.size / n;
        parts[i] = mtf_slice(x, mine.name, at, size, 1);
        at += size;
    }
}

static void expand_split(op_call *c)
{
    mtf_dim   dim;
    attr_ints sizes = c->attrs[1].ints;
    if (!call_attr_dim(c, 0, &dim)) return;
    if (sizes.n && sizes.n != c->nout) {
        fail(&c->graph->session->fault, ERR_SHAPE, "split: %d sizes for %d results", sizes.n,
             c->nout);
        return;
    }
    mtf_split(c->in[0], dim, c->nout, sizes.n ? sizes.v : NULL, c->out);
}

const op op_split = {.name = "split",
                     .says =
                         "parts along dim, one for each result; equal ones, or of the sizes given",
                     .args = "x",
                     .results = "parts...",
                     .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"},
                                                  {"sizes", ATTR_INTS, "()", "sizes of the parts"},
                                                  {0}},
                     .expand = expand_split};

/* ---- stack and unstack: a dimension of size 1 more or less ---- */

mtf_tensor *mtf_stack(const char *dim, int axis, int n, mtf_tensor *const *xs)
{
    mtf_graph *g = n > 0 ? graph_of(xs[0]) : NULL;
    if (!g) return NULL;
    const mtf_shape *x = &xs[0]->shape;
    if (axis < 0) axis += x->ndims + 1;
    if (axis < 0 || axis > x->ndims || x->ndims == MTF_SHAPE_ROOM) {
        fail(&g->session->fault, ERR_SHAPE,
             "stack: the new dimension \"%s\" cannot stand at place %d of %d", dim, axis,
             x->ndims + 1);
        return NULL;
    }
    mtf_dim dims[MTF_SHAPE_ROOM + 1];
    memcpy(dims, x->dims, sizeof(mtf_dim) * (size_t)axis);
    dims[axis] = (mtf_dim){dim, 1};
    memcpy(dims + axis + 1, x->dims + axis, sizeof(mtf_dim) * (size_t)(x->ndims - axis));
    mtf_shape    one = shape_of(x->ndims + 1, dims);
    mtf_tensor **parts = arena_array(&g->arena, mtf_tensor *, n);
    for (int i = 0; parts && i < n; i++) {
        char a[SHAPE_TEXT], b[SHAPE_TEXT];
        if (xs[i] && !mtf_shape_equal(xs[i]->shape, *x))
            fail(&g->session->fault, ERR_SHAPE,
                 "stack: \"%s\" %s and \"%s\" %s must have one shape", tensor_name(xs[0]),
                 shape_text(x, a), tensor_name(xs[i]), shape_text(&xs[i]->shape, b));
        parts[i] = mtf_reshape(xs[i], one);
    }
    return parts ? mtf_concat(dim, n, parts) : NULL;
}

void mtf_unstack(mtf_tensor *x, mtf_dim dim, mtf_tensor **parts)
{
    mtf_dim mine;
    for (int64_t i = 0; i < dim.size; i++) parts[i] = NULL;
    if (!call_dim(&op_unstack, x, dim.name, &mine)) return;
    if (mine.size != dim.size) { /* the caller's array has room for dim.size */
        fail(&graph_of(x)->session->fault, ERR_SHAPE,
             "unstack: dimension \"%s\" is %lld in \"%s\", not %lld", mine.name,
             (long long)mine.size, tensor_name(x), (long long)dim.size);
        return;
    }
    for (int64_t i = 0; i < mine.size; i++)
        parts[i] = mtf_reshape(mtf_slice(x, mine.name, i, 1, 1),
                               mtf_shape_minus(x->shape, mtf_shape(mine)));
}

static void expand_stack(op_call *c)
{
    c->out[0] = mtf_stack(c->attrs[0].text, (int)c->attrs[1].i, c->nin, c->in);
}

static void expand_unstack(op_call *c)
{
    mtf_dim dim;
    if (!call_attr_dim(c, 0, &dim)) return;
    if (dim.size != c->nout)
        fail(&c->graph->session->fault, ERR_SHAPE,
             "unstack: dimension \"%s\" gives %lld results, not %d", dim.name, (long long)dim.size,
             c->nout);
    else
        mtf_unstack(c->in[0], dim, c->out);
}

const op op_stack = {
    .name = "stack",
    .says = "its inputs along a new dimension",
    .args = "xs...",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "name of the new dimension"},
                                 {"axis", ATTR_INT, "0", "its place; negative counts from the end"},
                                 {0}},
    .expand = expand_stack};
const op op_unstack = {.name = "unstack",
                       .says = "one result for each index along dim",
                       .args = "x",
                       .results = "parts...",
                       .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"}, {0}},
                       .expand = expand_unstack};
