/* Slices, padding, concatenation, shifting along one dimension.
 *
 * slice and pad are each other's gradient.  Slicing and reversing are views
 * and move nothing; the others copy each element once.
 */
#include "base/dtype.h"
#include "base/saturate.h"
#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/reach.h"
#include "ops/splits.h"
#include "ops/tape.h"

/* ---- slice ---- */

enum { DIM, BEGIN, SIZE, STEP };

static bool infer_slice(node *n)
{
    mtf_dim dim;
    int64_t begin = n->attrs[BEGIN].i, size = n->attrs[SIZE].i, step = n->attrs[STEP].i;
    TRY(call_dim(n->op, n->in[0], n->attrs[DIM].text, &dim));
    if (begin < 0 || size < 1 || step < 1 || begin >= dim.size ||
        (size - 1) > (dim.size - 1 - begin) / step)
        return node_fail(
            n, ERR_SHAPE,
            "%lld elements from %lld in steps of %lld do not fit dimension \"%s\" of size %lld",
            (long long)size, (long long)begin, (long long)step, dim.name, (long long)dim.size);
    mtf_shape shape = mtf_shape_resize(n->in[0]->shape, dim.name, size);
    return node_output(n, n->in[0]->type, &shape);
}

static void grad_slice(tape *t, const node *n, mtf_tensor *const *dy)
{
    const char  *dim = n->attrs[DIM].text;
    int64_t      begin = n->attrs[BEGIN].i, size = n->attrs[SIZE].i, step = n->attrs[STEP].i;
    int64_t      whole = mtf_shape_dim(n->in[0]->shape, dim).size;
    mtf_pad_opts o = {
        .before = begin, .between = step - 1, .after = whole - begin - (size - 1) * step - 1};
    tape_give(t, n->in[0], mtf_pad(dy[0], dim, &o));
}

static bool lower_slice(emitter *e, const node *n, const slice *in, slice *out)
{
    const char *dim = n->attrs[DIM].text;
    int64_t     begin = n->attrs[BEGIN].i, step = n->attrs[STEP].i, size = n->attrs[SIZE].i;
    slice       x = *in;
    span        part = reach_part(e, &out[0], dim, size), got;
    TRY(reach(e, n->in[0], dim, size,
              &(span_map){.mult = step, .low = begin, .high = begin, .div = 1}, &x, &got));
    out[0] = slice_cut(&x, dim, begin + part.begin * step - got.begin, part.size, step);
    return true;
}

const op op_slice = {
    .name = "slice",
    .says = "elements begin, begin + step, ... along dim, `size` of them",
    .args = "x",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"},
                                 {"begin", ATTR_INT, NULL, "first element"},
                                 {"size", ATTR_INT, NULL, "how many"},
                                 {"step", ATTR_INT, "1", "distance"},
                                 {0}},
    .flags = OP_MOVES | OP_F8,
    .infer = infer_slice,
    .grad = grad_slice,
    .lower = lower_slice,
    .split = split_own_first,
    .debt = debt_sum,
};

mtf_tensor *mtf_slice(mtf_tensor *x, const char *dim, int64_t begin, int64_t size, int64_t step)
{
    attr attrs[] = {{.text = dim}, {.i = begin}, {.i = size}, {.i = step}};
    return node_unary(&op_slice, x, attrs);
}

/* ---- pad ---- */

enum { BEFORE = 1, AFTER, BETWEEN, VALUE };

static bool infer_pad(node *n)
{
    mtf_dim dim;
    TRY(call_dim(n->op, n->in[0], n->attrs[DIM].text, &dim));
    for (int i = BEFORE; i <= BETWEEN; i++)
        if (n->attrs[i].i < 0)
            return node_fail(n, ERR_SHAPE, "padding of %lld; it must be 0 or more",
                             (long long)n->attrs[i].i);
    char        text[DTYPE_REFUSAL];
    const char *refusal = number_refused(n->in[0]->type, n->attrs[VALUE].number, text);
    if (refusal) return node_fail(n, ERR_VALUE, "%s", refusal);
    /* A saturated size is too large for a shape, which reports it. */
    int64_t size = saturate_times(dim.size - 1, saturate_plus(n->attrs[BETWEEN].i, 1));
    size = saturate_plus(saturate_plus(size, 1), n->attrs[BEFORE].i);
    size = saturate_plus(size, n->attrs[AFTER].i);
    mtf_shape shape = mtf_shape_resize(n->in[0]->shape, dim.name, size);
    return node_output(n, n->in[0]->type, &shape);
}

static void grad_pad(tape *t, const node *n, mtf_tensor *const *dy)
{
    const char *dim = n->attrs[DIM].text;
    int64_t     size = mtf_shape_dim(n->in[0]->shape, dim).size;
    tape_give(t, n->in[0],
              mtf_slice(dy[0], dim, n->attrs[BEFORE].i, size, n->attrs[BETWEEN].i + 1));
}

static bool lower_pad(emitter *e, const node *n, const slice *in, slice *out)
{
    const char *dim = n->attrs[DIM].text;
    int64_t     all = mtf_shape_dim(n->out[0]->shape, dim).size, pad = n->attrs[BEFORE].i;
    slice       x = *in;
    span        part = reach_part(e, &out[0], dim, all), got;
    TRY(reach(e, n->in[0], dim, all, &(span_map){.mult = 1, .low = -pad, .high = -pad, .div = 1},
              &x, &got));
    out[0] = emit_fresh(e, out[0].type, &out[0].shape);
    int64_t size = got.size, whole = part.size, step = n->attrs[BETWEEN].i + 1;
    /* Where the fetched elements begin and end in this part of the result. */
    int64_t before = size ? pad + got.begin - part.begin : whole,
            after = whole - before - (size - 1) * step - 1;
    scalar value = number_as(out[0].type, n->attrs[VALUE].number);
    if (!size) return emit_fill_scalar(e, value, &out[0]);
    if (step > 1) { /* fills everything, then overwrites: the gaps are many and small */
        TRY(emit_fill_scalar(e, value, &out[0]));
    } else {
        slice low = slice_cut(&out[0], dim, 0, before, 1);
        slice high = slice_cut(&out[0], dim, whole - after, after, 1);
        if (before) TRY(emit_fill_scalar(e, value, &low));
        if (after) TRY(emit_fill_scalar(e, value, &high));
    }
    slice middle = slice_cut(&out[0], dim, before, size, step);
    return emit_move(e, &x, &middle);
}

static dim_split split_pad(const node *n, const char *dim)
{
    return n->attrs[BETWEEN].i ? split_but_first(n, dim) : split_own_first(n, dim);
}

static debt pad_debt(const node *n, int input)
{
    (void)input;
    return n->attrs[VALUE].number.r == 0 ? DEBT_SUM : DEBT_SETTLE;
}

const op op_pad = {
    .name = "pad",
    .says = "adds elements of one value before, after and between those along dim",
    .args = "x",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"},
                                 {"before", ATTR_INT, "0", "how many before"},
                                 {"after", ATTR_INT, "0", "how many after"},
                                 {"between", ATTR_INT, "0", "how many between neighbours"},
                                 {"value", ATTR_NUMBER, "0", "the value"},
                                 {0}},
    .flags = OP_MOVES,
    .infer = infer_pad,
    .grad = grad_pad,
    .lower = lower_pad,
    .split = split_pad,
    .debt = pad_debt,
};

enum { MOST_REPEATED = 1 << 30 };

/* Reflecting and repeating the edge fetch elements by a fixed list of indices. */
static mtf_tensor *pad_by_index(mtf_tensor *x, const char *dim_name, int64_t before, int64_t after,
                                bool reflect)
{
    mtf_dim   dim;
    const op *o = reflect ? &op_pad_reflect : &op_pad_edge;
    if (!call_dim(o, x, dim_name, &dim)) return NULL;
    mtf_graph *g = graph_of(x);
    int64_t    most = reflect ? dim.size - 1 : MOST_REPEATED;
    if (before < 0 || after < 0 || before > most || after > most) {
        fail(&g->session->fault, ERR_SHAPE,
             "%s: padding of %lld and %lld; dimension \"%s\" of size %lld allows 0 to %lld",
             o->name, (long long)before, (long long)after, dim.name, (long long)dim.size,
             (long long)most);
        return NULL;
    }
    if (!call_positions(o, g, dim.size)) return NULL;
    mtf_dim  wide = {dim.name, before + dim.size + after};
    int32_t *index = arena_array(&g->arena, int32_t, wide.size);
    if (!index) return NULL;
    for (int64_t i = 0; i < wide.size; i++) {
        int64_t at = i - before, last = dim.size - 1;
        if (at < 0) at = reflect ? -at : 0;
        if (at > last) at = reflect ? 2 * last - at : last;
        index[i] = (int32_t)at;
    }
    return mtf_gather(x, mtf_constant_data(g, index, MTF_I32, mtf_shape(wide)), dim);
}

mtf_tensor *mtf_pad(mtf_tensor *x, const char *dim, const mtf_pad_opts *opts)
{
    mtf_pad_opts o = opts ? *opts : (mtf_pad_opts){0};
    if (o.mode != MTF_PAD_CONSTANT)
        return pad_by_index(x, dim, o.before, o.after, o.mode == MTF_PAD_REFLECT);
    attr attrs[] = {{.text = dim},
                    {.i = o.before},
                    {.i = o.after},
                    {.i = o.between},
                    {.number = {.r = o.value}}};
    return node_unary(&op_pad, x, attrs);
}

static void expand_pad_reflect(op_call *c)
{
    c->out[0] = pad_by_index(c->in[0], c->attrs[0].text, c->attrs[1].i, c->attrs[2].i, true);
}

static void expand_pad_edge(op_call *c)
{
    c->out[0] = pad_by_index(c->in[0], c->attrs[0].text, c->attrs[1].i, c->attrs[2].i, false);
}

static const attr_spec pad_index_attrs[] = {{"dim", ATTR_WORD, NULL, "the dimension"},
                                            {"before", ATTR_INT, "0", "how many before"},
                                            {"after", ATTR_INT, "0", "how many after"},
                                            {0}};
const op               op_pad_reflect = {.name = "pad_reflect",
                                         .says = "pads with the mirror image, the edge itself not repeated",
                                         .args = "x",
                                         .attrs = pad_index_attrs,
                                         .expand = expand_pad_reflect};
const op               op_pad_edge = {.name = "pad_edge",
                                      .says = "pads by repeating the first and last elements",
                                      .args = "x",
                                      .attrs = pad_index_attrs,
                                      .expand = expand_pad_edge};

/* ---- reverse ---- */

static bool infer_reverse(node *n)
{
    mtf_dim dim;
    TRY(call_dim(n->op, n->in[0], n->attrs[DIM].text, &dim));
    return node_output(n, n->in[0]->type, &n->in[0]->shape);
}

static void grad_reverse(tape *t, const node *n, mtf_tensor *const *dy)
{
    mtf_dim dim = mtf_shape_dim(n->in[0]->shape, n->attrs[DIM].text);
    tape_give(t, n->in[0], mtf_reverse(dy[0], dim));
}

static bool lower_reverse(emitter *e, const node *n, const slice *in, slice *out)
{
    const char *dim = n->attrs[DIM].text;
    int64_t     size = mtf_shape_dim(n->in[0]->shape, dim).size;
    slice       x = *in;
    span        got;
    TRY(reach(e, n->in[0], dim, size,
              &(span_map){.mult = -1, .low = size - 1, .high = size - 1, .div = 1}, &x, &got));
    out[0] = slice_cut(&x, dim, got.size - 1, got.size, -1);
    return true;
}

const op op_reverse = {.name = "reverse",
                       .says = "x with its order along dim reversed",
                       .args = "x",
                       .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"}, {0}},
                       .flags = OP_MOVES,
                       .infer = infer_reverse,
                       .grad = grad_reverse,
                       .lower = lower_reverse,
                       .split = split_own_first,
                       .debt = debt_sum};

mtf_tensor *mtf_reverse(mtf_tensor *x, mtf_dim dim)
{
    return node_unary(&op_reverse, x, &(attr){.text = dim.name});
}

/* ---- shift ---- */

enum { OFFSET = 1, WRAP };

static void grad_shift(tape *t, const node *n, mtf_tensor *const *dy)
{
    mtf_dim dim = mtf_shape_dim(n->in[0]->shape, n->attrs[DIM].text);
    tape_give(t, n->in[0], mtf_shift(dy[0], -n->attrs[OFFSET].i, dim, n->attrs[WRAP].b));
}

/* Copies what this part of the result takes from x shifted by `by`, to the span `filled`. */
static bool place_shifted(emitter *e, const node *n, const slice *in, int64_t by, const slice *out,
                          span *filled)
{
    const char *dim = n->attrs[DIM].text;
    int64_t     size = mtf_shape_dim(n->in[0]->shape, dim).size;
    span        part = reach_part(e, out, dim, size), got;
    slice       x = *in;
    TRY(reach(e, n->in[0], dim, size, &(span_map){.mult = 1, .low = -by, .high = -by, .div = 1}, &x,
              &got));
    /* On an input that is not cut `got` is everything: take what falls into the part. */
    int64_t begin = got.begin + by > part.begin ? got.begin + by : part.begin;
    int64_t end = got.begin + by + got.size, part_end = part.begin + part.size;
    if (end > part_end) end = part_end;
    *filled = end > begin ? (span){begin - part.begin, end - begin} : (span){0, 0};
    if (!filled->size) return true;
    slice from = slice_cut(&x, dim, begin - by - got.begin, filled->size, 1);
    slice to = slice_cut(out, dim, filled->begin, filled->size, 1);
    return emit_move(e, &from, &to);
}

/* Two straight copies: what moves within, and what wraps around (or the zeros that enter). */
static bool lower_shift(emitter *e, const node *n, const slice *in, slice *out)
{
    const char *dim = n->attrs[DIM].text;
    int64_t     size = mtf_shape_dim(n->in[0]->shape, dim).size, by = n->attrs[OFFSET].i;
    bool        wrap = n->attrs[WRAP].b;
    slice       want = out[0];
    span        filled, around;
    if (wrap) by = (by % size + size) % size;
    if (by > size) by = size;
    if (by < -size) by = -size;
    if (by == 0) {
        out[0] = *in;
        return true;
    }
    out[0] = emit_fresh(e, want.type, &want.shape);
    out[0].cut = want.cut;
    TRY(place_shifted(e, n, in, by, &out[0], &filled));
    if (wrap) return place_shifted(e, n, in, by - size, &out[0], &around);
    int64_t rest = reach_part(e, &out[0], dim, size).size - filled.size;
    if (!rest) return true;
    slice edge = slice_cut(&out[0], dim, by > 0 || !filled.size ? 0 : filled.size, rest, 1);
    return emit_fill(e, 0, &edge);
}

const op op_shift = {.name = "shift",
                     .says = "moves contents along dim by offset, to higher indices where "
                             "positive; zeros enter, or with wrap what left",
                     .args = "x",
                     .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"},
                                                  {"offset", ATTR_INT, NULL, "how far"},
                                                  {"wrap", ATTR_BOOL, "false",
                                                   "what leaves at one end enters at the other"},
                                                  {0}},
                     .flags = OP_MOVES,
                     .infer = infer_reverse,
                     .grad = grad_shift,
                     .lower = lower_shift,
                     .split = split_own_first,
                     .debt = debt_sum};

mtf_tensor *mtf_shift(mtf_tensor *x, int64_t offset, mtf_dim dim, bool wrap)
{
    attr attrs[] = {{.text = dim.name}, {.i = offset}, {.b = wrap}};
    return node_unary(&op_shift, x, attrs);
}
