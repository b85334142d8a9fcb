/* Indices: gather, scatter_add, one_hot, shifting by a tensor.
 *
 * gather and scatter_add are each other's transpose.  An index out of range
 * selects nothing, so results never depend on what lies beyond.
 */
#include <string.h>

#include "base/dtype.h"
#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/splits.h"
#include "ops/tape.h"

/* Notes that an input's elements are positions along the dimension: the index, but for its form. */
static void note_positions(mtf_tensor *index, mtf_dim dim)
{
    static const char *const forms[] = {"cast", "reshape", "transpose", "broadcast", "slice"};
    enum { FORMS = sizeof forms / sizeof *forms };
    for (int i = 0; i < FORMS && index->node->nin; i++)
        if (strcmp(index->node->op->name, forms[i]) == 0) index = index->node->in[0], i = -1;
    if (strcmp(index->node->op->name, "input") != 0 || !dtype_is_int(index->type)) return;
    if (!index->counts.name || dim.size < index->counts.size) index->counts = dim;
}

static bool needs_index(const node *n)
{
    if (dtype_is_int(n->in[1]->type)) return true;
    return node_fail(n, ERR_TYPE, "the indices \"%s\" are %s; they must be i32 or i64",
                     tensor_name(n->in[1]), mtf_dtype_name(n->in[1]->type));
}

/* Dimensions that data and indices share, other than the indexed one, must agree in size. */
static bool shared_agree(const node *n, const mtf_shape *data, const char *dim)
{
    const mtf_shape *index = &n->in[1]->shape;
    for (int i = 0; i < index->ndims; i++) {
        mtf_dim d = mtf_shape_dim(*data, index->dims[i].name);
        if (d.name && d.size != index->dims[i].size && mtf_shape_find(mtf_shape(d), dim) < 0)
            return node_fail(n, ERR_SHAPE, "dimension \"%s\" is %lld in \"%s\" but %lld in \"%s\"",
                             d.name, (long long)d.size, tensor_name(n->in[0]),
                             (long long)index->dims[i].size, tensor_name(n->in[1]));
    }
    return true;
}

/* ---- gather ---- */

/* The indices' dimensions that x lacks replace the indexed dimension. */
static bool infer_gather(node *n)
{
    const mtf_shape *x = &n->in[0]->shape, *index = &n->in[1]->shape;
    mtf_dim          dim;
    TRY(needs_index(n) && call_dim(n->op, n->in[0], n->attrs[0].text, &dim));
    TRY(shared_agree(n, x, dim.name));
    note_positions(n->in[1], dim);
    mtf_shape others = mtf_shape_minus(*x, mtf_shape(dim)), fresh = mtf_shape_minus(*index, others);
    mtf_shape shape;
    if (fresh.ndims)
        shape = mtf_shape_replace(*x, mtf_shape(dim), fresh);
    else
        shape = others;
    TRY(shape_check(&shape, n->op->name, &n->graph->session->fault));
    return node_output(n, n->in[0]->type, &shape);
}

static void grad_gather(tape *t, const node *n, mtf_tensor *const *dy)
{
    const mtf_shape *x = &n->in[0]->shape, *index = &n->in[1]->shape;
    mtf_dim          dim = mtf_shape_dim(*x, n->attrs[0].text);
    mtf_shape        others = mtf_shape_minus(*x, mtf_shape(dim));
    mtf_shape        shared = mtf_shape_minus(others, mtf_shape_minus(others, *index));
    tape_give(t, n->in[0], mtf_scatter_add(dy[0], n->in[1], dim, shared));
}

/* An index counts from the start of this processor's part; those of other parts fall out of range. */
static bool shift_index(emitter *e, slice *index, mtf_dim dim)
{
    int64_t begin = emit_part(e, dim.name, dim.size).begin;
    slice   shifted = emit_fresh(e, index->type, &index->shape);
    slice   by = slice_uniform((double)begin, index->type, &(mtf_shape){0});
    TRY(emit_scalar(e, FN_sub, 2, (slice[]){*index, by}, &shifted));
    *index = shifted;
    return true;
}

static bool is_cut(const slice *s, const char *dim)
{
    int d = shape_find(&s->shape, dim);
    return d >= 0 && s->cut >> d & 1;
}

/* On a cut table each processor gathers its own rows and zeros for others: a partial sum. */
static dim_split split_gather(const node *n, const char *dim)
{
    if (strcmp(n->attrs[0].text, dim) != 0) return SPLIT_FREE;
    bool both = shape_find(&n->in[1]->shape, dim) >= 0;
    return both || n->in[0]->type == MTF_BOOL ? SPLIT_WHOLE : SPLIT_OWN_SUM;
}

static bool lower_gather(emitter *e, const node *n, const slice *in, slice *out)
{
    mtf_dim dim = mtf_shape_dim(n->in[0]->shape, n->attrs[0].text);
    slice   index = in[1];
    if (is_cut(&in[0], dim.name)) TRY(shift_index(e, &index, dim));
    out[0] = emit_fresh(e, out[0].type, &out[0].shape);
    return emit_gather(e, &in[0], &index, dim.name, &out[0]);
}

const op op_gather = {
    .name = "gather",
    .says = "elements of x at the indices along dim, 0 where out of range; dimensions that both "
            "have are matched",
    .args = "x, indices",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the indexed dimension of x"}, {0}},
    .flags = OP_MOVES | OP_ALIKE,
    .infer = infer_gather,
    .grad = grad_gather,
    .lower = lower_gather,
    .split = split_gather,
    .debt = debt_first};

mtf_tensor *mtf_gather(mtf_tensor *x, mtf_tensor *indices, mtf_dim dim)
{
    return node_binary(&op_gather, x, indices, &(attr){.text = dim.name});
}

/* ---- scatter_add ---- */

/* x [i.., rest..], indices [i..]: the dimensions of the indices disappear, but for those in
 * `keep`, and dim stands where the first of them stood. */
static bool infer_scatter(node *n)
{
    const mtf_shape *x = &n->in[0]->shape, *index = &n->in[1]->shape;
    mtf_dim          dim = n->attrs[0].dim;
    attr_names       keep = n->attrs[1].names;
    TRY(needs_index(n) && shared_agree(n, x, ""));
    mtf_shape shape = {0}, gone = *index;
    for (int k = 0; k < keep.n; k++) {
        mtf_dim kept;
        TRY(call_dim(n->op, n->in[1], keep.v[k], &kept) &&
            call_dim(n->op, n->in[0], keep.v[k], &kept));
        gone = mtf_shape_minus(gone, mtf_shape(kept));
    }
    mtf_shape all = mtf_shape_plus(*x, *index); /* what is looped over */
    if (all.ndims < 0)
        return node_fail(n, ERR_SHAPE,
                         "\"%s\" and the indices \"%s\" have more than %d dimensions together",
                         tensor_name(n->in[0]), tensor_name(n->in[1]), MTF_MAX_DIMS);
    bool placed = false;
    for (int i = 0; i < x->ndims; i++) {
        bool summed = shape_find(&gone, x->dims[i].name) >= 0;
        if (summed && placed) continue;
        if (shape.ndims == MTF_SHAPE_ROOM) return node_fail(n, ERR_SHAPE, "too many dimensions");
        shape.dims[shape.ndims++] = summed ? dim : x->dims[i];
        placed = placed || summed;
    }
    if (!placed) {
        if (shape.ndims == MTF_SHAPE_ROOM) return node_fail(n, ERR_SHAPE, "too many dimensions");
        shape.dims[shape.ndims++] = dim;
    }
    shape = shape_of(shape.ndims, shape.dims);
    TRY(shape_check(&shape, n->op->name, &n->graph->session->fault));
    TRY(node_output(n, n->in[0]->type, &shape));
    note_positions(n->in[1], mtf_shape_dim(n->out[0]->shape, dim.name));
    return true;
}

static void grad_scatter(tape *t, const node *n, mtf_tensor *const *dy)
{
    tape_give(t, n->in[0], mtf_gather(dy[0], n->in[1], n->attrs[0].dim));
}

static dim_split split_scatter(const node *n, const char *dim)
{
    bool made = strcmp(n->attrs[0].dim.name, dim) == 0;
    bool index = shape_find(&n->in[1]->shape, dim) >= 0,
         out = shape_find(&n->out[0]->shape, dim) >= 0;
    if (made) return index || shape_find(&n->in[0]->shape, dim) >= 0 ? SPLIT_WHOLE : SPLIT_OWN;
    if (!index || out) return SPLIT_FREE;
    return n->in[0]->type == MTF_BOOL ? SPLIT_WHOLE : SPLIT_SUM;
}

static bool lower_scatter(emitter *e, const node *n, const slice *in, slice *out)
{
    slice index = in[1];
    if (is_cut(&out[0], n->attrs[0].dim.name)) TRY(shift_index(e, &index, n->attrs[0].dim));
    /* Short floats are summed in wider ones, as everywhere. */
    mtf_dtype wide = dtype_compute(out[0].type);
    slice     data = in[0], sum = emit_fresh(e, wide, &out[0].shape);
    TRY(emit_widened(e, &data) && emit_fill(e, 0, &sum));
    TRY(emit_scatter(e, &data, &index, n->attrs[0].dim.name, false, &sum));
    return emit_narrowed(e, &sum, &out[0]);
}

const op op_scatter_add = {
    .name = "scatter_add",
    .says = "sums x into a tensor with dimension dim, where the indices say; nothing where out of "
            "range. The "
            "indices' dimensions disappear, but for those in keep: the transpose of gather",
    .args = "x, indices",
    .attrs = (const attr_spec[]){{"dim", ATTR_DIM, NULL, "the new dimension"},
                                 {"keep", ATTR_NAMES, "()",
                                  "dimensions of x and indices that are matched"},
                                 {0}},
    .flags = OP_ALIKE,
    .infer = infer_scatter,
    .grad = grad_scatter,
    .lower = lower_scatter,
    .split = split_scatter,
    .debt = debt_first};

mtf_tensor *mtf_scatter_add(mtf_tensor *x, mtf_tensor *indices, mtf_dim dim, mtf_shape keep)
{
    const char *names[MTF_SHAPE_ROOM];
    for (int i = 0; i < keep.ndims; i++) names[i] = keep.dims[i].name;
    attr attrs[] = {{.dim = dim}, {.names = {keep.ndims < 0 ? 0 : keep.ndims, names}}};
    return node_binary(&op_scatter_add, x, indices, attrs);
}

/* ---- one_hot ---- */

static mtf_tensor *one_hot(mtf_tensor *indices, mtf_dim dim, attr_number on, attr_number off,
                           mtf_dtype type)
{
    const mtf_shape one = {0};
    mtf_graph      *g = graph_of(indices);
    if (!g) return NULL;
    if (!dtype_is_int(indices->type)) {
        fail(&g->session->fault, ERR_TYPE,
             "one_hot: the indices \"%s\" are %s; they must be i32 or i64", tensor_name(indices),
             mtf_dtype_name(indices->type));
        return NULL;
    }
    char text[SHAPE_TEXT];
    if (dim.name && shape_find(&indices->shape, dim.name) >= 0) {
        fail(&g->session->fault, ERR_SHAPE,
             "one_hot: \"%s\" %s has a dimension \"%s\" already; dim names a new one",
             tensor_name(indices), shape_text(&indices->shape, text), dim.name);
        return NULL;
    }
    mtf_tensor *positions = mtf_range(g, dim, indices->type);
    if (positions) note_positions(indices, positions->shape.dims[0]);
    mtf_tensor *hit = mtf_equal(indices, positions);
    return mtf_where(hit, call_constant(g, on, type, &one), call_constant(g, off, type, &one));
}

mtf_tensor *mtf_one_hot_as(mtf_tensor *indices, mtf_dim dim, double on, double off, mtf_dtype type)
{
    return one_hot(indices, dim, (attr_number){.r = on}, (attr_number){.r = off}, type);
}

mtf_tensor *mtf_one_hot(mtf_tensor *indices, mtf_dim dim)
{
    return mtf_one_hot_as(indices, dim, 1, 0, MTF_F32);
}

static void expand_one_hot(op_call *c)
{
    c->out[0] = one_hot(c->in[0], c->attrs[0].dim, c->attrs[1].number, c->attrs[2].number,
                        c->attrs[3].type);
}

const op op_one_hot = {
    .name = "one_hot",
    .says = "`on` where the position along a new last dimension equals the index, else `off`",
    .args = "indices",
    .attrs = (const attr_spec[]){{"dim", ATTR_DIM, NULL, "the new dimension"},
                                 {"on", ATTR_NUMBER, "1", "value where equal"},
                                 {"off", ATTR_NUMBER, "0", "value elsewhere"},
                                 {"type", ATTR_TYPE, "f32", "element type"},
                                 {0}},
    .expand = expand_one_hot};

/* ---- dynamic_shift: a gather from where each element came ---- */

mtf_tensor *mtf_dynamic_shift(mtf_tensor *x, mtf_tensor *offset, mtf_dim dim, bool wrap)
{
    mtf_dim mine;
    if (!offset || !call_dim(&op_dynamic_shift, x, dim.name, &mine)) return NULL;
    mtf_graph *g = graph_of(x);
    mtf_shape  others = mtf_shape_minus(x->shape, mtf_shape(mine));
    if (!dtype_is_int(offset->type) || !shape_within(&offset->shape, &others)) {
        char a[SHAPE_TEXT], b[SHAPE_TEXT];
        fail(&g->session->fault, ERR_SHAPE,
             "dynamic_shift: the offset \"%s\" %s%s must be an integer with dimensions of \"%s\" "
             "%s other than \"%s\"",
             tensor_name(offset), mtf_dtype_name(offset->type), shape_text(&offset->shape, a),
             tensor_name(x), shape_text(&x->shape, b), mine.name);
        return NULL;
    }
    mtf_tensor *from = mtf_sub(mtf_range(g, mine, offset->type), offset);
    if (wrap) from = mtf_mod(from, mtf_constant(g, (double)mine.size, offset->type, mtf_shape()));
    return mtf_transpose(mtf_gather(x, from, mine), x->shape);
}

static void expand_dynamic_shift(op_call *c)
{
    mtf_dim dim;
    if (call_attr_dim(c, 0, &dim))
        c->out[0] = mtf_dynamic_shift(c->in[0], c->in[1], dim, c->attrs[1].b);
}

const op op_dynamic_shift = {
    .name = "dynamic_shift",
    .says = "shift by an integer tensor, which may differ along x's other dimensions",
    .args = "x, offset",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"},
                                 {"wrap", ATTR_BOOL, "false",
                                  "what leaves at one end enters at the other"},
                                 {0}},
    .expand = expand_dynamic_shift};
