/* Reshaping cut dimensions by moving little.
 *
 * Row-major order pairs the dimensions of both shapes in groups of equal
 * product.  In a group let rows be the elements of the outermost old dimension,
 * b numbers each, and blocks those of the outermost new one, d numbers each.
 * Blocks [i, j) lie in rows floor(i*d / b) .. floor((j*d - 1) / b): one exchange
 * fetches these rows whole, however they were cut, and the blocks are a run of
 * them.  New dimensions further inside are then cut from the blocks; or, where
 * that moves less, fewer blocks are fetched, by cutting them along the inner
 * dimensions' axes too, and a second exchange moves that cut to them.
 */
#include "ops/regroup.h"

#include "program/exchange.h"
#include "space/internal.h"

typedef struct dim_group {
    int     y_end;      /* after its last dimension of the new shape */
    int     row, block; /* the outermost dimensions of more than one element; -1: none */
    int64_t in_row, in_block;
} dim_group;

typedef struct regrouping {
    mtf_shape x, y;
    placement from, to; /* the placements of x and of y */
    int       n;
    dim_group groups[2 * MTF_SHAPE_ROOM];
} regrouping;

/* ---- groups ---- */

/* Of dimensions [first, end), those of one element skipped where there are others. */
static int outermost(const mtf_shape *s, int first, int end, int64_t *inside)
{
    int d = first;
    while (d < end && s->dims[d].size == 1) d++;
    if (d == end) d = first < end ? first : -1;
    *inside = 1;
    for (int i = d + 1; i < end && d >= 0; i++) *inside *= s->dims[i].size;
    return d;
}

/* Divides a dimension cut along several axes, the first of which make `outer` parts, into two,
 * [outer, rest], each with its own axes.  Where the other shape has both, nothing need move. */
static void divide(const mesh *m, mtf_shape *s, placement *where, int d, int64_t outer)
{
    static const char *const names[MTF_SHAPE_ROOM] = {
        SLICE_DIM("outer0"),  SLICE_DIM("outer1"),  SLICE_DIM("outer2"),  SLICE_DIM("outer3"),
        SLICE_DIM("outer4"),  SLICE_DIM("outer5"),  SLICE_DIM("outer6"),  SLICE_DIM("outer7"),
        SLICE_DIM("outer8"),  SLICE_DIM("outer9"),  SLICE_DIM("outer10"), SLICE_DIM("outer11"),
        SLICE_DIM("outer12"), SLICE_DIM("outer13"), SLICE_DIM("outer14"), SLICE_DIM("outer15"),
        SLICE_DIM("outer16"), SLICE_DIM("outer17"), SLICE_DIM("outer18"), SLICE_DIM("outer19")};
    axis_list first = {0}, rest = {0}, cut = where->dim[d];
    while (first.n < cut.n && cut_parts(m, &first) < outer)
        first.axis[first.n] = cut.axis[first.n], first.n++;
    while (first.n + rest.n < cut.n) rest.axis[rest.n] = cut.axis[first.n + rest.n], rest.n++;
    if (rest.n == 0 || cut_parts(m, &first) != outer || s->dims[d].size % outer ||
        s->ndims == MTF_SHAPE_ROOM)
        return;
    for (int i = s->ndims++; i > d; i--)
        s->dims[i] = s->dims[i - 1], where->dim[i] = where->dim[i - 1];
    s->dims[d] = (mtf_dim){names[d], outer};
    s->dims[d + 1].size /= outer;
    where->dim[d] = first;
    where->dim[d + 1] = rest;
}

/* Dimensions of one element pair up with one another where they meet; else they join a neighbour. */
static void pair_dims(const mesh *m, regrouping *r)
{
    mtf_shape *x = &r->x, *y = &r->y;
    int        i = 0, j = 0;
    while (i < x->ndims || j < y->ndims) {
        dim_group g = {0};
        int       x_first = i, y_first = j;
        int64_t   old = 1, new = 1;
        bool      both = i < x->ndims && j < y->ndims;
        if (both && x->dims[i].size < y->dims[j].size)
            divide(m, y, &r->to, j, x->dims[i].size);
        else if (both && y->dims[j].size < x->dims[i].size)
            divide(m, x, &r->from, i, y->dims[j].size);
        if (both && x->dims[i].size == 1 && y->dims[j].size == 1)
            i++, j++;
        else
            do
                if (j == y->ndims || (i < x->ndims && old <= new))
                    old *= x->dims[i++].size;
                else
                    new *= y->dims[j++].size;
            while (old != new || (old == 1 && (i < x->ndims || j < y->ndims)));
        g.y_end = j;
        g.row = outermost(x, x_first, i, &g.in_row);
        g.block = outermost(y, y_first, j, &g.in_block);
        r->groups[r->n++] = g;
    }
}

/* ---- routes: along the axes of which inner dimensions of y the blocks are cut first ---- */

static int first_of_y(const regrouping *r, int g)
{
    return g ? r->groups[g - 1].y_end : 0;
}

/* All inner dimensions that may lend their axes to the blocks, as bits. */
static unsigned lenders(const regrouping *r)
{
    unsigned inner = 0;
    for (int g = 0; g < r->n; g++)
        for (int d = first_of_y(r, g); d < r->groups[g].y_end; d++)
            if (r->groups[g].row >= 0 && d != r->groups[g].block && r->to.dim[d].n)
                inner |= 1u << d;
    return inner;
}

/* How the blocks of a group are cut. */
static axis_list blocks_cut(const regrouping *r, unsigned lent, int g)
{
    axis_list all = r->to.dim[r->groups[g].block];
    for (int d = first_of_y(r, g); d < r->groups[g].y_end; d++)
        for (int k = 0; (lent >> d & 1) && k < r->to.dim[d].n; k++)
            all.axis[all.n++] = r->to.dim[d].axis[k];
    return all;
}

/* On the old shape: rows that hold the blocks. */
static exchange_args fetch_rows(const mesh *m, const regrouping *r, unsigned lent)
{
    exchange_args how = {.shape = r->x, .from = r->from};
    for (int g = 0; g < r->n; g++) {
        const dim_group *q = &r->groups[g];
        if (q->row < 0 || q->block < 0) continue;
        axis_list cut = blocks_cut(r, lent, g);
        int64_t   rows = r->x.dims[q->row].size, blocks = r->y.dims[q->block].size;
        int       parts = cut_parts(m, &cut);
        how.to.dim[q->row] = cut;
        if (rows == blocks || (rows % parts == 0 && blocks % parts == 0)) continue;
        how.mapped |= 1u << q->row;
        how.map[q->row] = (span_map){.cut = cut,
                                     .size = blocks,
                                     .mult = q->in_block,
                                     .high = q->in_block - 1,
                                     .div = q->in_row};
    }
    return how;
}

/* On the new shape: from cut blocks to where y belongs. */
static exchange_args fetch_blocks(const regrouping *r, unsigned lent)
{
    exchange_args how = {.shape = r->y, .to = r->to};
    for (int g = 0; g < r->n; g++)
        if (r->groups[g].row >= 0 && r->groups[g].block >= 0)
            how.from.dim[r->groups[g].block] = blocks_cut(r, lent, g);
    return how;
}

/* Elements that both exchanges move to a sample of processors, the same one on every processor: all
 * of a small mesh; of a large one some at a stride that no axis' size is likely to divide. */
static int64_t moved(const mesh *m, const exchange_args *first, const exchange_args *second)
{
    enum { SAMPLE = 64, STRIDE = 7919 };
    int64_t sum = 0;
    int     all = mesh_size(m);
    for (int k = 0; k < all && k < SAMPLE; k++) {
        mesh_point p = mesh_place(m, all > SAMPLE ? k * STRIDE % all : k);
        sum += exchange_received(m, first, &p) + exchange_received(m, second, &p);
    }
    return sum;
}

/* The route that moves least; of equals the one that lends least. */
static unsigned best_route(const mesh *m, const regrouping *r)
{
    unsigned inner = lenders(r), best = 0;
    int64_t  least = INT64_MAX;
    if (!inner) return 0;                                     /* there is only one */
    for (unsigned lent = 0;; lent = (lent - inner) & inner) { /* all subsets */
        exchange_args first = fetch_rows(m, r, lent), second = fetch_blocks(r, lent);
        int64_t       cost = moved(m, &first, &second);
        if (cost < least) least = cost, best = lent;
        if (lent == inner || least == 0) return best;
    }
}

/* ---- lowering ---- */

static bool lay_over(emitter *e, const mtf_shape *shape, slice *s)
{
    slice out;
    if (!slice_reshape(s, shape, &out)) TRY(emit_dense(e, s) && slice_reshape(s, shape, &out));
    *s = out;
    return true;
}

/* s, the rows fetched, becomes [.., blocks, inner dimensions whole, ..]. */
static bool take_blocks(emitter *e, const regrouping *r, const exchange_args *rows,
                        const exchange_args *blocks, slice *s)
{
    const mesh *m = e->layout->mesh;
    mtf_shape   flat = {0}, local = r->y;
    int64_t begin[2 * MTF_SHAPE_ROOM], size[2 * MTF_SHAPE_ROOM]; /* the run in each flat group */
    for (int d = 0; d < local.ndims; d++)
        local.dims[d].size = exchange_has(m, blocks, d, &e->here).size;
    if (shape_size(&local) == 0 && !slice_is_uniform(s)) { /* empty, at the start of s */
        int64_t offset = s->offset;
        *s = slice_dense(s->buffer, s->type, &local);
        s->offset = offset;
        return true;
    }
    for (int g = 0; g < r->n; g++) {
        const dim_group *q = &r->groups[g];
        if (q->row < 0) continue;
        span    fetched = exchange_wanted(m, rows, q->row, &e->here), mine = {0, 1};
        int64_t in_block = q->block < 0 ? 1 : q->in_block;
        if (q->block >= 0) mine = exchange_has(m, blocks, q->block, &e->here);
        begin[flat.ndims] = mine.begin * in_block - fetched.begin * q->in_row;
        size[flat.ndims] = mine.size * in_block;
        flat.dims[flat.ndims++] = (mtf_dim){r->x.dims[q->row].name, fetched.size * q->in_row};
    }
    TRY(lay_over(e, &flat, s));
    for (int g = 0; g < flat.ndims; g++) *s = slice_cut(s, flat.dims[g].name, begin[g], size[g], 1);
    return lay_over(e, &local, s);
}

/* The part that this processor has in such a placement, before or after dimensions were divided. */
static bool lay_over_part(emitter *e, const mtf_shape *shape, const placement *where, slice *s)
{
    mtf_shape local = placement_local(e->layout->mesh, where, &e->here, shape);
    return lay_over(e, &local, s);
}

/* Other names, the same sizes and cuts: nothing moves. */
static bool only_renames(const mtf_shape *x, const placement *from, const mtf_shape *y,
                         const placement *to)
{
    bool same = x->ndims == y->ndims;
    for (int d = 0; same && d < x->ndims; d++)
        same = x->dims[d].size == y->dims[d].size && cut_equal(&from->dim[d], &to->dim[d]);
    return same;
}

bool regroup(emitter *e, const mtf_shape *x, const mtf_shape *y, unsigned y_cut, slice *s)
{
    if (!s->cut && !s->finer && !y_cut) return lay_over(e, y, s);
    const mesh *m = e->layout->mesh;
    placement   from = s->finer ? *s->finer : emit_placement(e, x, s->cut),
              to = emit_placement(e, y, y_cut);
    if (only_renames(x, &from, y, &to)) return lay_over_part(e, y, &to, s);
    regrouping r = {.x = *x, .y = *y, .from = from, .to = to};
    pair_dims(m, &r);
    unsigned      lent = best_route(m, &r);
    exchange_args rows = fetch_rows(m, &r, lent), blocks = fetch_blocks(&r, lent);
    return lay_over_part(e, &r.x, &r.from, s) && emit_fetch(e, &rows, s) &&
           take_blocks(e, &r, &rows, &blocks, s) && emit_fetch(e, &blocks, s) &&
           lay_over_part(e, y, &to, s);
}
