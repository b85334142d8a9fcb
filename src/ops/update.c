/* Updates: some positions of a tensor replaced by others.
 *
 * The result is a new tensor, as everywhere.  Where nothing reads the old one
 * afterwards, as with the caches of decoding, planning gives both one buffer
 * (plan/in_place.c), and only the new positions are written.
 */
#include <string.h>

#include "base/dtype.h"
#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/reach.h"
#include "ops/splits.h"
#include "ops/tape.h"
#include "space/internal.h"

enum { X, VALUE, POSITION };

static bool infer(node *n)
{
    const mtf_tensor *x = n->in[X], *value = n->in[VALUE], *position = n->in[POSITION];
    char              a[SHAPE_TEXT], b[SHAPE_TEXT];
    mtf_dim           dim;
    TRY(call_dim(n->op, x, n->attrs[0].text, &dim));
    if (value->type != x->type)
        return node_fail(n, ERR_TYPE, "\"%s\" is %s, but the value \"%s\" is %s", tensor_name(x),
                         mtf_dtype_name(x->type), tensor_name(value), mtf_dtype_name(value->type));
    if (!dtype_is_int(position->type))
        return node_fail(n, ERR_TYPE, "the position \"%s\" is %s; it must be i32 or i64",
                         tensor_name(position), mtf_dtype_name(position->type));
    mtf_shape rest = mtf_shape_minus(x->shape, mtf_shape(dim));
    mtf_shape values = mtf_shape_minus(value->shape, mtf_shape(dim));
    mtf_dim   run = mtf_shape_dim(value->shape, dim.name);
    bool      fits = shape_same_set(&rest, &values) && (!run.name || run.size <= dim.size);
    for (int i = 0; fits && i < rest.ndims; i++)
        fits = mtf_shape_dim(values, rest.dims[i].name).size == rest.dims[i].size;
    if (!fits)
        return node_fail(n, ERR_SHAPE,
                         "\"%s\" is %s; a value for it has all its dimensions but \"%s\", or that "
                         "one as well and not longer, unlike \"%s\" %s",
                         tensor_name(x), shape_text(&x->shape, a), dim.name, tensor_name(value),
                         shape_text(&value->shape, b));
    bool beside = shape_within(&position->shape, &rest);
    for (int i = 0; beside && i < position->shape.ndims; i++) {
        mtf_dim p = position->shape.dims[i];
        beside = mtf_shape_dim(rest, p.name).size == p.size;
    }
    if (!beside)
        return node_fail(
            n, ERR_SHAPE,
            "the position \"%s\" %s must have dimensions of \"%s\" %s other than \"%s\"",
            tensor_name(position), shape_text(&position->shape, b), tensor_name(x),
            shape_text(&x->shape, a), dim.name);
    return node_output(n, x->type, &x->shape);
}

/* Where each element of the value goes: [position's dimensions, run]. */
static mtf_tensor *places(const node *n, mtf_dim run)
{
    mtf_tensor *position = n->in[POSITION];
    return mtf_add(position, mtf_range(n->graph, run, position->type));
}

static void grad(tape *t, const node *n, mtf_tensor *const *dy)
{
    mtf_dim dim = mtf_shape_dim(n->in[X]->shape, n->attrs[0].text);
    mtf_dim run = mtf_shape_dim(n->in[VALUE]->shape, dim.name);
    if (tape_wants(t, n->in[X]))
        tape_give(t, n->in[X],
                  mtf_update(dy[0], mtf_zeros_like(n->in[VALUE]), n->in[POSITION], dim.name));
    if (!tape_wants(t, n->in[VALUE])) return;
    mtf_tensor *taken;
    if (run.name) {
        mtf_dim apart = internal_dim(INTERNAL_RUN, run.size, &n->in[X]->shape);
        taken = mtf_gather(dy[0], places(n, apart), dim);
        taken = mtf_rename_dimension(taken, apart.name, dim.name);
    } else {
        /* Positions may be out of range here; + 0 hides the input from the check of indices. */
        taken = mtf_gather(dy[0], mtf_add_scalar(n->in[POSITION], 0), dim);
    }
    tape_give(t, n->in[VALUE], mtf_transpose(taken, n->in[VALUE]->shape));
}

#define RUN_DIM SLICE_DIM("run")

/* The index of each element of a run, counted from the start of this processor's part. */
static bool index_run(emitter *e, int64_t run, int64_t begin, slice *index)
{
    mtf_shape shape = index->shape;
    slice     by = slice_uniform((double)-begin, index->type, &(mtf_shape){0});
    if (begin) {
        slice shifted = emit_fresh(e, index->type, &shape);
        TRY(emit_scalar(e, FN_add, 2, (slice[]){*index, by}, &shifted));
        *index = shifted;
    }
    if (run < 0) return true;
    mtf_shape along = {.ndims = 1, .dims = {{RUN_DIM, run}}};
    mtf_shape all = mtf_shape_plus(shape, along);
    slice     range = emit_fresh(e, index->type, &along), each = emit_fresh(e, index->type, &all);
    TRY(emit_range(e, RUN_DIM, 0, &range) &&
        emit_scalar(e, FN_add, 2, (slice[]){*index, range}, &each));
    *index = each;
    return true;
}

static bool lower(emitter *e, const node *n, const slice *in, slice *out)
{
    mtf_dim dim = mtf_shape_dim(n->in[X]->shape, n->attrs[0].text);
    slice   value = in[VALUE], index = in[POSITION];
    int64_t begin = 0, run = -1;
    if (reach_is_cut(&in[X], dim.name)) begin = emit_part(e, dim.name, dim.size).begin;
    if (reach_is_cut(&value, dim.name)) TRY(reach_whole(e, n->in[VALUE], dim.name, &value));
    TRY(emit_real(e, &value));
    int d = shape_find(&value.shape, dim.name);
    if (d >= 0 && value.shape.dims[d].size == 1) {
        value = slice_drop(&value, dim.name); /* the position itself is the index */
    } else if (d >= 0) {
        run = value.shape.dims[d].size;
        value.shape.dims[d].name = RUN_DIM;
    }
    TRY(index_run(e, run, begin, &index));
    slice x = in[X];
    out[0] = emit_fresh(e, x.type, &x.shape);
    return emit_move(e, &x, &out[0]) && emit_scatter(e, &value, &index, dim.name, true, &out[0]);
}

const op op_update = {
    .name = "update",
    .says = "x with the value at one position along dim, or from that position on where the value "
            "has dim as well; what falls out of range is left out",
    .args = "x, value, position",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension of the position"}, {0}},
    .infer = infer,
    .grad = grad,
    .lower = lower,
    .split = split_own_first};

mtf_tensor *mtf_update(mtf_tensor *x, mtf_tensor *value, mtf_tensor *position, const char *dim)
{
    mtf_graph *g = graph_of(x);
    if (!g || !value || !position) return NULL;
    node *n = node_new(g, &op_update, 3, (mtf_tensor *[]){x, value, position},
                       (attr[]){{.text = dim}}, NULL);
    return n ? n->out[0] : NULL;
}
