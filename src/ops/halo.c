/* Halo exchange between blocks, and one-dimensional pooling helpers.
 *
 * Each block of a dimension that was divided into [blocks, size] gets the margins
 * of its neighbours.  Built from shift, slice and concat.
 */
#include <string.h>

#include "ops/call.h"
#include "ops/catalogue.h"
#include "space/internal.h"

/* The `halo` elements that lie before each block (side -1) or after it (side +1). */
static int margins(mtf_tensor *x, mtf_dim blocks, mtf_dim size, int64_t halo, bool wrap, int side,
                   mtf_tensor **parts)
{
    int     n = 0;
    int64_t whole = halo / size.size, rest = halo % size.size;
    /* Farthest first: the part of a block, then whole blocks. */
    if (rest) {
        mtf_tensor *edge = mtf_slice(x, size.name, side < 0 ? size.size - rest : 0, rest, 1);
        parts[n++] = mtf_shift(edge, -side * (whole + 1), blocks, wrap);
    }
    for (int64_t k = whole; k >= 1; k--) parts[n++] = mtf_shift(x, -side * k, blocks, wrap);
    return n;
}

static mtf_tensor *exchange(mtf_tensor *x, mtf_dim blocks_given, mtf_dim size_given, int64_t halo,
                            bool wrap, bool right, const op *o)
{
    mtf_dim blocks, size;
    if (!call_dim(o, x, blocks_given.name, &blocks) || !call_dim(o, x, size_given.name, &size))
        return NULL;
    mtf_graph *g = graph_of(x);
    if (halo < 0 || halo > blocks.size * size.size || strcmp(blocks.name, size.name) == 0) {
        fail(&g->session->fault, ERR_SHAPE,
             "%s: a halo of %lld; it must be 0 to %lld, and the two dimensions must differ",
             o->name, (long long)halo, (long long)(blocks.size * size.size));
        return NULL;
    }
    if (halo == 0) return x;
    int          most = (int)(halo / size.size) + 1;
    mtf_tensor **parts = arena_array(&g->arena, mtf_tensor *, 2 * most + 1);
    if (!parts) return NULL;
    int n = margins(x, blocks, size, halo, wrap, -1, parts);
    parts[n++] = x;
    if (right) {
        mtf_tensor **after = arena_array(&g->arena, mtf_tensor *, most);
        if (!after) return NULL;
        for (int k = margins(x, blocks, size, halo, wrap, 1, after) - 1; k >= 0; k--)
            parts[n++] = after[k];
    }
    return mtf_concat(size.name, n, parts);
}

mtf_tensor *mtf_halo_exchange(mtf_tensor *x, mtf_dim blocks, mtf_dim block_size, int64_t halo,
                              bool wrap)
{
    return exchange(x, blocks, block_size, halo, wrap, true, &op_halo_exchange);
}

mtf_tensor *mtf_left_halo_exchange(mtf_tensor *x, mtf_dim blocks, mtf_dim block_size, int64_t halo,
                                   bool wrap)
{
    return exchange(x, blocks, block_size, halo, wrap, false, &op_left_halo_exchange);
}

static void expand_halo(op_call *c)
{
    c->out[0] = mtf_halo_exchange(c->in[0], (mtf_dim){c->attrs[0].text, 1},
                                  (mtf_dim){c->attrs[1].text, 1}, c->attrs[2].i, c->attrs[3].b);
}

static void expand_left_halo(op_call *c)
{
    c->out[0] =
        mtf_left_halo_exchange(c->in[0], (mtf_dim){c->attrs[0].text, 1},
                               (mtf_dim){c->attrs[1].text, 1}, c->attrs[2].i, c->attrs[3].b);
}

static const attr_spec halo_attrs[] = {
    {"blocks", ATTR_WORD, NULL, "the dimension that counts blocks"},
    {"size", ATTR_WORD, NULL, "the dimension inside a block"},
    {"halo", ATTR_INT, NULL, "how many elements"},
    {"wrap", ATTR_BOOL, "false", "the last block's neighbour is the first"},
    {0}};
const op op_halo_exchange = {
    .name = "halo_exchange",
    .says = "each block with `halo` elements of its neighbours on both sides; zeros at the ends",
    .args = "x",
    .attrs = halo_attrs,
    .expand = expand_halo};
const op op_left_halo_exchange = {.name = "left_halo_exchange",
                                  .says = "each block with `halo` elements of what lies before it",
                                  .args = "x",
                                  .attrs = halo_attrs,
                                  .expand = expand_left_halo};

/* ---- pooling in one dimension: groups of neighbours ---- */

/* [.., dim / size, low, ..]; `low` is an output. */
static mtf_tensor *grouped(mtf_tensor *x, mtf_dim given, int64_t size, const op *o, mtf_dim *low)
{
    mtf_dim dim;
    if (!call_dim(o, x, given.name, &dim)) return NULL;
    if (size < 1 || dim.size % size) {
        fail(&graph_of(x)->session->fault, ERR_SHAPE,
             "%s: dimension \"%s\" of size %lld is not a multiple of %lld", o->name, dim.name,
             (long long)dim.size, (long long)size);
        return NULL;
    }
    mtf_dim high = {dim.name, dim.size / size};
    *low = internal_dim(INTERNAL_GROUP, size, &x->shape);
    return mtf_reshape(x, mtf_shape_replace(x->shape, mtf_shape(dim), mtf_shape(high, *low)));
}

mtf_tensor *mtf_pool_tensor_1d(mtf_tensor *x, mtf_dim dim, int64_t size,
                               mtf_tensor *(*reduce)(mtf_tensor *, mtf_shape))
{
    mtf_dim     low;
    mtf_tensor *g = grouped(x, dim, size, &op_pool_tensor_1d, &low);
    return g ? (reduce ? reduce : mtf_reduce_mean)(g, mtf_shape(low)) : NULL;
}

mtf_tensor *mtf_stride_tensor_1d(mtf_tensor *x, mtf_dim dim, int64_t size)
{
    mtf_dim     low;
    mtf_tensor *g = grouped(x, dim, size, &op_stride_tensor_1d, &low);
    return g ? mtf_reduce_first(g, low) : NULL;
}

static void expand_pool_1d(op_call *c)
{
    static const struct {
        const char *word;
        mtf_tensor *(*reduce)(mtf_tensor *, mtf_shape);
    } ways[] = {{"mean", mtf_reduce_mean},
                {"max", mtf_reduce_max},
                {"min", mtf_reduce_min},
                {"sum", mtf_reduce_sum}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].word, c->attrs[2].text) == 0) {
            c->out[0] = mtf_pool_tensor_1d(c->in[0], (mtf_dim){c->attrs[0].text, 1}, c->attrs[1].i,
                                           ways[i].reduce);
            return;
        }
    fail(&c->graph->session->fault, ERR_USAGE,
         "pool_tensor_1d: reduce is mean, max, min or sum, not \"%s\"", c->attrs[2].text);
}

static void expand_stride_1d(op_call *c)
{
    c->out[0] = mtf_stride_tensor_1d(c->in[0], (mtf_dim){c->attrs[0].text, 1}, c->attrs[1].i);
}

const op op_pool_tensor_1d = {
    .name = "pool_tensor_1d",
    .says = "reduces groups of `size` neighbours along dim",
    .args = "x",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"},
                                 {"size", ATTR_INT, "2", "of a group"},
                                 {"reduce", ATTR_WORD, "mean", "mean, max, min or sum"},
                                 {0}},
    .expand = expand_pool_1d};
const op op_stride_tensor_1d = {
    .name = "stride_tensor_1d",
    .says = "keeps the first of each group of `size` neighbours along dim",
    .args = "x",
    .attrs = (const attr_spec[]){{"dim", ATTR_WORD, NULL, "the dimension"},
                                 {"size", ATTR_INT, "2", "of a group"},
                                 {0}},
    .expand = expand_stride_1d};
