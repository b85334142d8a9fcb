/* Contractions: named dimensions to (batched) matrix products.
 *
 * Every dimension of c = sum a * b belongs to one of four groups: batch (in a,
 * b and c), m (a and c), n (b and c), k (a and b).  A group whose dimensions
 * are contiguous with each other in all its operands acts as one; the matrix
 * product needs one m, one n and one k with unit stride somewhere.  Other
 * operands are packed, which the program shows as a move.  Factors in f8 must be
 * contiguous along k.
 */
#include "program/emit.h"

#include "program/dim_group.h"
#include "program/emit_one.h"

typedef struct groups {
    mtf_shape batch, m, n, k;
} groups;

static groups classify(const slice *a, const slice *b, const slice *c)
{
    groups g = {0};
    for (int i = 0; i < c->shape.ndims; i++) {
        mtf_dim    d = c->shape.dims[i];
        bool       in_a = shape_find(&a->shape, d.name) >= 0;
        bool       in_b = shape_find(&b->shape, d.name) >= 0;
        mtf_shape *group = in_a && in_b ? &g.batch : in_a ? &g.m : &g.n;
        group->dims[group->ndims++] = d;
    }
    g.k = mtf_shape_minus(a->shape, c->shape);
    return g;
}

/* Can BLAS read s as a matrix over rows x cols?  One stride must be 1, the other at least the row
 * length. */
static bool is_matrix(const slice *s, const mtf_shape *rows, const mtf_shape *cols)
{
    int64_t r, c, nr = shape_size(rows), nc = shape_size(cols);
    if (!dims_merge(s, rows, &r) || !dims_merge(s, cols, &c)) return false;
    if (nr == 1 && nc == 1) return true;
    if (nr == 1) return c > 0;
    if (nc == 1) return r > 0;
    return (c == 1 && r >= nc) || (r == 1 && c >= nr);
}

/* [batch, rows, cols], or [batch, cols, rows] if `like` is contiguous along one of the rows: then
 * copies from or to `like` move contiguous rows.  The product accepts both. */
static mtf_shape matrix_like(const slice *like, const mtf_shape *batch, const mtf_shape *rows,
                             const mtf_shape *cols)
{
    bool along_rows = false;
    for (int i = 0; i < like->shape.ndims; i++)
        if (like->stride[i] == 1 && like->shape.dims[i].size > 1)
            along_rows = shape_find(rows, like->shape.dims[i].name) >= 0;
    return mtf_shape_plus(mtf_shape_plus(*batch, along_rows ? *cols : *rows),
                          along_rows ? *rows : *cols);
}

/* Copies s into one matrix for each element of the batch. */
static bool pack_operand(emitter *e, slice *s, const mtf_shape *batch, const mtf_shape *rows,
                         const mtf_shape *cols, mtf_dtype type)
{
    mtf_shape shape = matrix_like(s, batch, rows, cols);
    slice     packed = emit_fresh(e, type, &shape);
    TRY(!slice_is_uniform(&packed));
    TRY(s->type == type ? emit_move(e, s, &packed) : emit_cast(e, s, &packed));
    *s = packed;
    return true;
}

/* ---- f8 ---- */

/* Rows of k, apart by multiples of F8_MULTIPLE. */
static bool is_f8_matrix(const slice *s, const mtf_shape *rows, const mtf_shape *k)
{
    int64_t r, c;
    if (!dims_merge(s, rows, &r) || !dims_merge(s, k, &c) || c != 1 || r < shape_size(k))
        return false;
    bool apart = s->offset % F8_MULTIPLE == 0;
    for (int d = 0; d < s->shape.ndims; d++)
        if (s->shape.dims[d].size > 1 && shape_find(k, s->shape.dims[d].name) < 0)
            apart = apart && s->stride[d] % F8_MULTIPLE == 0;
    return apart;
}

/* [batch, rows, k] */
static bool pack_f8(emitter *e, slice *s, const mtf_shape *batch, const mtf_shape *rows,
                    const mtf_shape *k)
{
    if (is_f8_matrix(s, rows, k)) return true;
    mtf_shape shape = mtf_shape_plus(mtf_shape_plus(*batch, *rows), *k);
    slice     packed = emit_fresh(e, s->type, &shape);
    TRY(!slice_is_uniform(&packed) && emit_move(e, s, &packed));
    *s = packed;
    return true;
}

/* Does the device multiply these f8 factors as they are? */
static bool multiplies_f8(const emitter *e, const slice *a, const slice *b, const groups *g)
{
    abilities can = e->program->session->can;
    bool      both = abilities_multiply(can, MTF_F8E4M3) && abilities_multiply(can, MTF_F8E5M2);
    return both && (a->type == MTF_F8E4M3 || b->type == MTF_F8E4M3) &&
           shape_size(&g->m) % F8_MULTIPLE == 0 && shape_size(&g->n) % F8_MULTIPLE == 0 &&
           shape_size(&g->k) % F8_MULTIPLE == 0;
}

/* ---- products ---- */

/* Widening keeps the order of memory, so that the copy is one sequential pass. */
static bool widen(emitter *e, slice *s, mtf_dtype type)
{
    if (s->type == type) return true;
    slice dense = emit_fresh(e, type, &s->shape);
    TRY(!slice_is_uniform(&dense) && emit_cast(e, s, &dense));
    *s = dense;
    return true;
}

static bool emit_product(emitter *e, const slice *a, const slice *b, const slice *c,
                         const groups *g)
{
    mtf_shape loops = g->batch;
    instr    *i = emit_instr(e, INSTR_CONTRACT, 1, 2, &loops);
    TRY(i != NULL);
    const slice     *operand[3] = {c, a, b};
    access          *to[3] = {&i->out[0], &i->in[0], &i->in[1]};
    const mtf_shape *group[3] = {&g->m, &g->n, &g->k};
    for (int o = 0; o < 3; o++) *to[o] = slice_access(operand[o], &loops);
    for (int d = 0; d < 3; d++) {
        i->size[i->nloops] = shape_size(group[d]);
        for (int o = 0; o < 3; o++) {
            int64_t stride = 0;
            bool    mine = !(o == 0 && d == 2) && !(o == 1 && d == 1) && !(o == 2 && d == 0);
            if (mine) dims_merge(operand[o], group[d], &stride);
            to[o]->stride[i->nloops] = stride;
        }
        i->nloops++;
    }
    return true;
}

/* Short floats are not widened if the device multiplies them directly.  bf16 holds every f8 number. */
static mtf_dtype type_of_operands(const emitter *e, const slice *a, const slice *b, mtf_dtype wide)
{
    const mtf_session *s = e->program->session;
    bool               short_floats = a->type == b->type && dtype_compute(a->type) == wide;
    if (dtype_is_f8(a->type) && dtype_is_f8(b->type)) return s->can.f8_as_bf16 ? MTF_BF16 : wide;
    return short_floats && abilities_multiply(s->can, a->type) ? a->type : wide;
}

/* Packs the factors that are not matrices of one m or n and one k. */
static bool arrange(emitter *e, slice *a, slice *b, groups *g, mtf_dtype type)
{
    TRY(widen(e, a, type) && widen(e, b, type));
    dims_order_like(&g->m, a);
    dims_order_like(&g->n, b);
    dims_order_like(&g->k, b);
    if (!is_matrix(a, &g->m, &g->k)) {
        /* Another order of k may make a a matrix, with b still being one. */
        mtf_shape k = g->k;
        dims_order_like(&k, a);
        if (is_matrix(a, &g->m, &k) && is_matrix(b, &k, &g->n))
            g->k = k;
        else
            TRY(pack_operand(e, a, &g->batch, &g->m, &g->k, type));
    }
    return is_matrix(b, &g->k, &g->n) || pack_operand(e, b, &g->batch, &g->k, &g->n, type);
}

/* The larger factor decides about the order of k. */
static bool arrange_f8(emitter *e, slice *a, slice *b, groups *g)
{
    dims_order_like(&g->m, a);
    dims_order_like(&g->n, b);
    dims_order_like(&g->k, shape_size(&a->shape) > shape_size(&b->shape) ? a : b);
    return pack_f8(e, a, &g->batch, &g->m, &g->k) && pack_f8(e, b, &g->batch, &g->n, &g->k);
}

bool emit_contract(emitter *e, const slice *a_given, const slice *b_given, const slice *c_given)
{
    slice     a = *a_given, b = *b_given, c = *c_given;
    mtf_dtype wide = dtype_compute(c.type), type = type_of_operands(e, &a, &b, wide);
    TRY(emit_whole(e, &a) && emit_whole(e, &b));
    groups g = classify(&a, &b, &c);
    if (shape_size(&g.k) == 0)
        return emit_fill(e, 0, c_given); /* this processor has no part of k */
    bool f8 = dtype_is_f8(a.type) && dtype_is_f8(b.type) && multiplies_f8(e, &a, &b, &g);
    TRY(f8 ? arrange_f8(e, &a, &b, &g) : arrange(e, &a, &b, &g, type));
    int64_t stride;
    bool    fits = is_matrix(&c, &g.m, &g.n) && dims_merge(&c, &g.m, &stride);
    bool    own_output = (c.type != type && c.type != wide) || !fits;
    if (own_output) {
        /* If only the type differs, keeps the order of memory: then narrowing is one sequential
         * pass. */
        mtf_shape shape = fits ? c.shape : matrix_like(c_given, &g.batch, &g.m, &g.n);
        if (fits) dims_order_like(&shape, c_given);
        c = emit_fresh(e, c.type == type ? type : wide, &shape);
        TRY(!slice_is_uniform(&c));
    }
    TRY(emit_product(e, &a, &b, &c, &g));
    if (!own_output) return true;
    return c.type == c_given->type ? emit_move(e, &c, c_given) : emit_cast(e, &c, c_given);
}
