/* Sorting and top-k: values, and where they were. */
#include <string.h>

#include "ops/call.h"
#include "ops/lowering.h"
#include "ops/reach.h"
#include "ops/splits.h"
#include "ops/tape.h"
#include "space/internal.h"

/* Scatters the gradients of the k first values back to where these came from. */
static void grad_order(tape *t, const node *n, mtf_tensor *const *dy)
{
    if (!dy[0]) return;
    mtf_dim   dim = mtf_shape_dim(n->in[0]->shape, n->attrs[0].text);
    mtf_shape keep = mtf_shape_minus(n->in[0]->shape, mtf_shape(dim));
    tape_give(t, n->in[0], mtf_scatter_add(dy[0], n->out[1], dim, keep));
}

static bool lower_order(emitter *e, const node *n, const slice *in, slice *out, const char *k_dim,
                        bool descending)
{
    for (int o = 0; o < 2; o++) out[o] = emit_fresh(e, out[o].type, &out[o].shape);
    return emit_order(e, in, n->attrs[0].text, k_dim, descending, &out[0], &out[1]);
}

/* ---- sort ---- */

static bool infer_sort(node *n)
{
    mtf_dim dim;
    TRY(call_dim(n->op, n->in[0], n->attrs[0].text, &dim));
    TRY(call_positions(n->op, n->graph, dim.size));
    return node_output(n, n->in[0]->type, &n->in[0]->shape) &&
           node_output(n, MTF_I32, &n->in[0]->shape);
}

/* On a cut dimension whole rows are sorted, each processor some of them, and cut again. */
static bool lower_sort(emitter *e, const node *n, const slice *in, slice *out)
{
    const char *dim = n->attrs[0].text;
    if (!reach_is_cut(&out[0], dim)) return lower_order(e, n, in, out, dim, n->attrs[1].b);
    slice     x = *in, sorted[2];
    placement there, here = emit_placement(e, &n->out[0]->shape, out[0].cut);
    TRY(reach_moved(e, n->in[0], dim, &x, &there));
    for (int o = 0; o < 2; o++) sorted[o] = emit_fresh(e, out[o].type, &x.shape);
    TRY(emit_order(e, &x, dim, dim, n->attrs[1].b, &sorted[0], &sorted[1]));
    for (int o = 0; o < 2; o++) {
        if (e->readers(e, n->out[o]))
            TRY(emit_exchange(e, &n->out[o]->shape, &there, &here, &sorted[o]));
        else
            sorted[o] = emit_fresh(e, out[o].type, &out[o].shape);
        out[o] = sorted[o];
    }
    return true;
}

static const attr_spec sort_attrs[] = {{"dim", ATTR_WORD, NULL, "the dimension"},
                                       {"descending", ATTR_BOOL, "false", "largest first"},
                                       {0}};

const op op_sort = {.name = "sort",
                    .says = "sorted values along dim and their i32 indices; equal ones keep their "
                            "order, NaN is the largest",
                    .args = "x",
                    .results = "values, indices",
                    .attrs = sort_attrs,
                    .infer = infer_sort,
                    .grad = grad_order,
                    .lower = lower_sort,
                    .split = split_own_first};

mtf_tensor *mtf_sort(mtf_tensor *x, mtf_dim dim, bool descending, mtf_tensor **indices)
{
    node *n = node_new(graph_of(x), &op_sort, 1, &x,
                       (attr[]){{.text = dim.name}, {.b = descending}}, NULL);
    if (indices) *indices = n ? n->out[1] : NULL;
    return n ? n->out[0] : NULL;
}

mtf_tensor *mtf_argsort(mtf_tensor *x, mtf_dim dim, bool descending)
{
    mtf_tensor *indices;
    mtf_sort(x, dim, descending, &indices);
    return indices;
}

static void expand_argsort(op_call *c)
{
    mtf_dim dim;
    if (call_attr_dim(c, 0, &dim)) c->out[0] = mtf_argsort(c->in[0], dim, c->attrs[1].b);
}

const op op_argsort = {.name = "argsort",
                       .says = "the indices that sort x along dim, i32",
                       .args = "x",
                       .attrs = sort_attrs,
                       .expand = expand_argsort};

/* ---- top_k ---- */

static bool infer_top_k(node *n)
{
    mtf_dim dim, k = n->attrs[1].dim;
    TRY(call_dim(n->op, n->in[0], n->attrs[0].text, &dim));
    TRY(call_positions(n->op, n->graph, dim.size));
    if (k.size > dim.size)
        return node_fail(n, ERR_SHAPE, "\"%s\" has %lld elements along \"%s\"; k asks for %lld",
                         tensor_name(n->in[0]), (long long)dim.size, dim.name, (long long)k.size);
    mtf_shape rest = mtf_shape_minus(n->in[0]->shape, mtf_shape(dim));
    if (k.name && shape_find(&rest, k.name) >= 0)
        return node_fail(n, ERR_SHAPE, "\"%s\" has a dimension \"%s\" already",
                         tensor_name(n->in[0]), k.name);
    mtf_shape one = shape_of(1, &k), shape = mtf_shape_plus(rest, one);
    TRY(shape_check(&one, n->op->name, &n->graph->session->fault));
    return node_output(n, n->in[0]->type, &shape) && node_output(n, MTF_I32, &shape);
}

#define CANDIDATES SLICE_DIM("candidates")

/* [parts, rest.., k] becomes [rest.., candidates], by part and then by rank: among equals the
 * lowest index stays first. */
static bool line_up(emitter *e, const char *k_dim, slice *s)
{
    mtf_shape order = s->shape, flat = s->shape;
    mtf_dim   parts = s->shape.dims[0], k = s->shape.dims[shape_find(&s->shape, k_dim)];
    int       n = 0;
    for (int i = 1; i < s->shape.ndims; i++)
        if (strcmp(s->shape.dims[i].name, k_dim) != 0) order.dims[n++] = s->shape.dims[i];
    flat = order;
    flat.dims[n] = (mtf_dim){CANDIDATES, parts.size * k.size};
    flat.ndims = n + 1;
    order.dims[n++] = parts;
    order.dims[n++] = k;
    slice lined = slice_as(s, &order);
    return emit_dense(e, &lined) && slice_reshape(&lined, &flat, s);
}

/* On a cut dimension: the k first of each part, gathered; then the k first of these. */
static bool top_of_parts(emitter *e, const node *n, const slice *in, slice *out)
{
    const char *dim = n->attrs[0].text, *k_dim = n->attrs[1].dim.name;
    mtf_dim     whole = mtf_shape_dim(n->in[0]->shape, dim);
    slice       best[2] = {emit_fresh(e, out[0].type, &out[0].shape),
                           emit_fresh(e, MTF_I32, &out[1].shape)},
          global;
    TRY(emit_order(e, in, dim, k_dim, true, &best[0], &best[1]));
    global = emit_fresh(e, MTF_I32, &best[1].shape);
    slice begin =
        slice_uniform((double)emit_part(e, dim, whole.size).begin, MTF_I32, &(mtf_shape){0});
    TRY(emit_scalar(e, FN_add, 2, (slice[]){best[1], begin}, &global));
    unsigned cut = spread_over(e, &n->out[0]->shape, k_dim);
    TRY(reach_all_parts(e, n->out[0], dim, cut, &best[0]) &&
        reach_all_parts(e, n->out[1], dim, cut, &global));
    TRY(line_up(e, k_dim, &best[0]) && line_up(e, k_dim, &global));
    slice rank = emit_fresh(e, MTF_I32, &out[1].shape);
    for (int o = 0; o < 2; o++) out[o] = emit_fresh(e, out[o].type, &out[o].shape);
    TRY(emit_order(e, &best[0], CANDIDATES, k_dim, true, &out[0], &rank));
    return emit_gather(e, &global, &rank, CANDIDATES, &out[1]);
}

static bool lower_top_k(emitter *e, const node *n, const slice *in, slice *out)
{
    const char *dim = n->attrs[0].text;
    slice       x = *in;
    if (reach_is_cut(in, dim)) {
        int64_t parts = cut_parts(e->layout->mesh, &layout_find(e->layout, dim)->cut);
        int64_t size = mtf_shape_dim(n->in[0]->shape, dim).size;
        if (n->attrs[1].dim.size <= size / parts) return top_of_parts(e, n, in, out);
        TRY(reach_whole(e, n->in[0], dim, &x)); /* some part has fewer than k */
    }
    return lower_order(e, n, &x, out, n->attrs[1].dim.name, true);
}

static dim_split split_top_k(const node *n, const char *dim)
{
    if (strcmp(n->attrs[1].dim.name, dim) == 0) return SPLIT_WHOLE;
    return split_own_first(n, dim);
}

const op op_top_k = {
    .name = "top_k",
    .says = "the k largest values along dim, largest first, along a new last dimension, and their "
            "i32 indices; "
            "equal ones in the order of their indices",
    .args = "x",
    .results = "values, indices",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"},
                                 {"k", ATTR_DIM, NULL, "the new dimension and how many"},
                                 {0}},
    .infer = infer_top_k,
    .grad = grad_order,
    .lower = lower_top_k,
    .split = split_top_k};

mtf_tensor *mtf_top_k(mtf_tensor *x, mtf_dim dim, mtf_dim k, mtf_tensor **indices)
{
    node *n =
        node_new(graph_of(x), &op_top_k, 1, &x, (attr[]){{.text = dim.name}, {.dim = k}}, NULL);
    if (indices) *indices = n ? n->out[1] : NULL;
    return n ? n->out[0] : NULL;
}

mtf_tensor *mtf_top_1(mtf_tensor *x, mtf_dim dim, mtf_tensor **indices)
{
    if (indices) *indices = mtf_argmax(x, dim);
    return mtf_reduce_max(x, mtf_shape(dim));
}

/* The last of the n + 1 largest. */
mtf_tensor *mtf_nth_largest_element(mtf_tensor *x, int64_t n, mtf_dim dim)
{
    if (!graph_of(x)) return NULL;
    mtf_dim     k = internal_dim(INTERNAL_RANK, n + 1, &x->shape);
    mtf_tensor *last = mtf_slice(mtf_top_k(x, dim, k, NULL), k.name, n, 1, 1);
    return last ? mtf_reshape(last, mtf_shape_minus(last->shape, mtf_shape(k))) : NULL;
}

mtf_tensor *mtf_nth_smallest_element(mtf_tensor *x, int64_t n, mtf_dim dim)
{
    return mtf_negative(mtf_nth_largest_element(mtf_negative(x), n, dim));
}

static void expand_top_1(op_call *c)
{
    mtf_dim dim;
    if (call_attr_dim(c, 0, &dim))
        c->out[0] = mtf_top_1(c->in[0], dim, c->nout > 1 ? &c->out[1] : NULL);
}

static void expand_nth_largest(op_call *c)
{
    mtf_dim dim;
    if (call_attr_dim(c, 0, &dim))
        c->out[0] = mtf_nth_largest_element(c->in[0], c->attrs[1].i, dim);
}

static void expand_nth_smallest(op_call *c)
{
    mtf_dim dim;
    if (call_attr_dim(c, 0, &dim))
        c->out[0] = mtf_nth_smallest_element(c->in[0], c->attrs[1].i, dim);
}

static const attr_spec nth_attrs[] = {
    {"dim", ATTR_WORD, NULL, "the dimension"}, {"n", ATTR_INT, NULL, "which one, from 0"}, {0}};

const op op_top_1 = {.name = "top_1",
                     .says = "the largest value along dim and its i32 index",
                     .args = "x",
                     .results = "value, index",
                     .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"}, {0}},
                     .expand = expand_top_1};
const op op_nth_largest_element = {.name = "nth_largest_element",
                                   .says = "the n-th largest value along dim",
                                   .args = "x",
                                   .attrs = nth_attrs,
                                   .expand = expand_nth_largest};
const op op_nth_smallest_element = {.name = "nth_smallest_element",
                                    .says = "the n-th smallest value along dim",
                                    .args = "x",
                                    .attrs = nth_attrs,
                                    .expand = expand_nth_smallest};
