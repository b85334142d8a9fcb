/* Grouped products: named dimensions to rows, columns, terms.
 *
 * As in a contraction, several dimensions act as one loop where they are contiguous in all operands,
 * and operands whose are not are packed.
 */
#include "program/dim_group.h"
#include "program/emit.h"
#include "program/emit_one.h"

/* The roles of dimensions other than the rows and the groups. */
typedef struct roles {
    mtf_shape batch, n, k;
} roles;

static bool has(const slice *s, const char *dim)
{
    return shape_find(&s->shape, dim) >= 0;
}

static void add_roles(const grouping *by, const slice *from, const slice *a, const slice *b,
                      const slice *ends, const slice *c, roles *r)
{
    bool sums = has(c, by->group);
    for (int i = 0; i < from->shape.ndims; i++) {
        mtf_dim d = from->shape.dims[i];
        bool    in_a = has(a, d.name), in_b = has(b, d.name), in_c = has(c, d.name);
        if (mtf_shape_find(mtf_shape(d), by->rows) >= 0 ||
            mtf_shape_find(mtf_shape(d), by->group) >= 0)
            continue;
        bool       is_n = in_b && in_c && !in_a;
        bool       is_k = in_a && (sums ? in_c && !in_b : in_b && !in_c);
        mtf_shape *role = has(ends, d.name) ? &r->batch : is_n ? &r->n : is_k ? &r->k : &r->batch;
        if (shape_find(role, d.name) < 0) role->dims[role->ndims++] = d;
    }
}

static bool acts_as_one(const slice *s, const mtf_shape *dims)
{
    int64_t stride;
    return dims_merge(s, dims, &stride);
}

/* Packs s, whose dimensions of these two roles become contiguous. */
static bool pack(emitter *e, slice *s, const mtf_shape *one, const mtf_shape *other)
{
    bool fits = (!one || acts_as_one(s, one)) && (!other || acts_as_one(s, other));
    if (fits) return true;
    mtf_shape inner = mtf_shape_plus(one ? *one : (mtf_shape){0}, other ? *other : (mtf_shape){0});
    mtf_shape shape = mtf_shape_plus(mtf_shape_minus(s->shape, inner), inner);
    slice     packed = emit_fresh(e, s->type, &shape);
    TRY(!slice_is_uniform(&packed) && emit_move(e, s, &packed));
    *s = packed;
    return true;
}

/* Removes a dimension from the view, since the kernel steps along it by itself. */
static slice without(const slice *s, const char *dim, int64_t *size, int64_t *stride)
{
    int d = shape_find(&s->shape, dim);
    *size = s->shape.dims[d].size;
    *stride = s->stride[d];
    return slice_drop(s, dim);
}

static access operand_along(const slice *s, const mtf_shape *loops, const char *rows,
                            const mtf_shape *n, const mtf_shape *k)
{
    access  a = slice_access(s, loops);
    int     d = shape_find(&s->shape, rows);
    int64_t stride = 0;
    a.stride[loops->ndims] = d >= 0 ? s->stride[d] : 0;
    if (n) dims_merge(s, n, &stride);
    a.stride[loops->ndims + 1] = n ? stride : 0;
    if (k) dims_merge(s, k, &stride);
    a.stride[loops->ndims + 2] = k ? stride : 0;
    return a;
}

static bool emit_one(emitter *e, const grouping *by, const roles *r, slice a, slice b, slice ends,
                     slice c)
{
    bool         sums = has(&c, by->group);
    int          row = shape_find(&a.shape, by->rows);
    int64_t      rows = a.shape.dims[row].size;
    grouped_args how = {.sums = sums, .first_row = by->first_row, .first_group = by->first_group};
    instr       *i = emit_instr(e, INSTR_GROUPED, 1, 3, &r->batch);
    TRY(i != NULL);
    slice *grouped = sums ? &c : &b;
    *grouped = without(grouped, by->group, &how.groups, &how.group_stride);
    ends = without(&ends, by->group, &how.all_groups, &how.ends_stride);
    i->out[0] = operand_along(&c, &r->batch, by->rows, &r->n, sums ? &r->k : NULL);
    i->in[0] = operand_along(&a, &r->batch, by->rows, NULL, &r->k);
    i->in[1] = operand_along(&b, &r->batch, by->rows, &r->n, sums ? NULL : &r->k);
    i->in[2] = operand_along(&ends, &r->batch, by->rows, NULL, NULL);
    i->size[i->nloops++] = rows;
    i->size[i->nloops++] = shape_size(&r->n);
    i->size[i->nloops++] = shape_size(&r->k);
    i->grouped = how;
    return true;
}

/* Is there nothing to multiply in this part? */
static bool is_empty(const slice *a, const slice *b, const slice *c)
{
    return shape_size(&a->shape) == 0 || shape_size(&b->shape) == 0 || shape_size(&c->shape) == 0;
}

bool emit_grouped(emitter *e, const grouping *by, const slice *a_given, const slice *b_given,
                  const slice *ends_given, const slice *out)
{
    slice a = *a_given, b = *b_given, ends = *ends_given, c = *out;
    roles r = {0};
    if (is_empty(&a, &b, &c)) return emit_fill(e, 0, out);
    TRY(emit_whole(e, &a) && emit_whole(e, &b) && emit_whole(e, &ends));
    const slice *each[3] = {&c, &a, &b};
    for (int s = 0; s < 3; s++) add_roles(by, each[s], &a, &b, &ends, &c, &r);
    bool sums = has(&c, by->group);
    dims_order_like(&r.n, &b);
    dims_order_like(&r.k, &a);
    TRY(pack(e, &a, &r.k, NULL) && pack(e, &b, &r.n, sums ? NULL : &r.k));
    bool fits = acts_as_one(&c, &r.n) && (!sums || acts_as_one(&c, &r.k));
    if (!fits) {
        mtf_shape inner = sums ? mtf_shape_plus(r.n, r.k) : r.n;
        mtf_shape shape = mtf_shape_plus(mtf_shape_minus(c.shape, inner), inner);
        c = emit_fresh(e, c.type, &shape);
        TRY(!slice_is_uniform(&c));
    }
    TRY(emit_one(e, by, &r, a, b, ends, c));
    return fits || emit_move(e, &c, out);
}
