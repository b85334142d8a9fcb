/* Sums of products over named dimensions.
 *
 * One operation is matrix product, outer product, elementwise product,
 * broadcast and sum: multiply the inputs, then sum every dimension that the
 * output lacks.  Which of these it is follows from the names alone.
 */
#include <string.h>

#include "base/dtype.h"
#include "base/saturate.h"
#include "ops/f8.h"
#include "ops/lowering.h"
#include "ops/splits.h"
#include "ops/tape.h"
#include "program/scalar.h"

enum { OVER, SHAPE, TYPE };

/* ---- shape ---- */

static int occurrences(const node *n, const char *dim)
{
    int count = 0;
    for (int i = 0; i < n->nargs; i++) count += shape_find(&n->in[i]->shape, dim) >= 0;
    return count;
}

static bool names_contain(attr_names names, const char *name)
{
    for (int i = 0; i < names.n; i++)
        if (strcmp(names.v[i], name) == 0) return true;
    return false;
}

/* The dimension as an input has it; {0} where none does.  The inputs together may have more
 * dimensions than a shape has room for. */
static mtf_dim input_dim(const node *n, const char *name)
{
    mtf_dim d = {0};
    for (int i = 0; i < n->nargs && !d.name; i++) d = mtf_shape_dim(n->in[i]->shape, name);
    return d;
}

/* Where no shape is given: all dimensions but those in `over`; without that, those that occur
 * in one input only. */
static bool infer_output(const node *n, mtf_shape *shape)
{
    attr_names over = n->attrs[OVER].names;
    for (int i = 0; i < over.n; i++)
        if (!input_dim(n, over.v[i]).name)
            return node_fail(n, ERR_SHAPE, "no input has the dimension \"%s\" to sum over",
                             over.v[i]);
    *shape = (mtf_shape){0};
    for (int i = 0; i < n->nargs; i++)
        for (int d = 0; d < n->in[i]->shape.ndims; d++) {
            mtf_shape one = {.ndims = 1, .dims = {n->in[i]->shape.dims[d]}};
            mtf_dim   dim = one.dims[0];
            bool summed = over.n ? names_contain(over, dim.name) : occurrences(n, dim.name) > 1;
            if (!summed) shape_join(shape, &one);
        }
    return true;
}

/* Both f8 types go together. */
static bool all_f8(const node *n)
{
    for (int i = 0; i < n->nargs; i++)
        if (!dtype_is_f8(n->in[i]->type)) return false;
    return true;
}

/* The type of products of f8 follows from the attribute, that of others from the inputs. */
static bool infer_type(const node *n, mtf_dtype *type)
{
    *type = n->in[0]->type;
    if (!all_f8(n)) return node_needs_same_type(n);
    *type = n->attrs[TYPE].type;
    return *type == MTF_F32 || *type == MTF_BF16 ||
           node_fail(n, ERR_TYPE, "products of f8 are f32 or bf16, not %s: cast the result",
                     mtf_dtype_name(*type));
}

static bool infer(node *n)
{
    mtf_shape shape;
    mtf_dtype type;
    TRY(infer_type(n, &type) && node_sizes_agree(n));
    if (n->attrs[SHAPE].shape) {
        shape = *n->attrs[SHAPE].shape;
        TRY(shape_check(&shape, n->op->name, &n->graph->session->fault));
        for (int i = 0; i < shape.ndims; i++) {
            mtf_dim d = input_dim(n, shape.dims[i].name);
            if (d.name && d.size != shape.dims[i].size)
                return node_fail(n, ERR_SHAPE,
                                 "dimension \"%s\" is %lld in the inputs but %lld in the output",
                                 d.name, (long long)d.size, (long long)shape.dims[i].size);
            if (names_contain(n->attrs[OVER].names, shape.dims[i].name))
                return node_fail(n, ERR_SHAPE, "the output keeps \"%s\", which is to be summed",
                                 shape.dims[i].name);
        }
    } else {
        TRY(infer_output(n, &shape));
        TRY(shape_check(&shape, n->op->name, &n->graph->session->fault));
    }
    TRY(node_output(n, type, &shape));
    n->attrs[OVER].names.n = 0; /* the shape implies it */
    n->attrs[SHAPE].shape = &n->out[0]->shape;
    n->attrs[TYPE].type = type;
    return true;
}

/* ---- gradient: the same product, dy in place of input i ---- */

static mtf_tensor *product_of(int n, mtf_tensor *const *xs, mtf_shape output, mtf_dtype type)
{
    attr attrs[] = {[OVER] = {.names = {0}}, [SHAPE] = {.shape = &output}, [TYPE] = {.type = type}};
    return node_one(&op_einsum, n, xs, attrs);
}

/* Among f8 factors dy is f8, too, with a scale of its own; gradients of f8 tensors are f32. */
static void grad(tape *t, const node *n, mtf_tensor *const *dy)
{
    mtf_tensor **xs = arena_array(&n->graph->arena, mtf_tensor *, n->nargs);
    mtf_dtype    type = n->out[0]->type;
    mtf_tensor  *slope = dy[0], *unit = NULL;
    if (all_f8(n)) slope = n->nargs > 1 ? f8_slope(dy[0], &unit) : mtf_cast(dy[0], MTF_F32);
    for (int i = 0; xs && i < n->nargs; i++) {
        if (!tape_wants(t, n->in[i])) continue;
        for (int j = 0; j < n->nargs; j++) xs[j] = j == i ? slope : n->in[j];
        mtf_tensor *dx = product_of(n->nargs, xs, n->in[i]->shape, type);
        tape_give(t, n->in[i], unit ? mtf_multiply(mtf_cast(dx, MTF_F32), unit) : dx);
    }
}

/* ---- lowering: products in pairs, in the order of least work ---- */

enum { EXHAUSTIVE = 9 }; /* up to this many factors every order is tried */

typedef struct plan {
    slice     factor[32];
    int       count;
    mtf_shape kept; /* dimensions of the output */
} plan;

static bool factors_have(const plan *p, unsigned set, const char *dim)
{
    for (int i = 0; i < p->count; i++)
        if (set >> i & 1 && shape_find(&p->factor[i].shape, dim) >= 0) return true;
    return false;
}

/* Dimensions of the factors in `set` that the outside of `set` or the output needs; an invalid
 * shape where they are too many. */
static mtf_shape needed(const plan *p, unsigned set)
{
    mtf_shape out = {0};
    for (int i = 0; i < p->count; i++)
        for (int d = 0; set >> i & 1 && d < p->factor[i].shape.ndims; d++) {
            mtf_shape one = {.ndims = 1, .dims = {p->factor[i].shape.dims[d]}};
            if (shape_find(&p->kept, one.dims[0].name) >= 0 ||
                factors_have(p, ~set, one.dims[0].name))
                shape_join(&out, &one);
        }
    return out;
}

static double pair_work(const mtf_shape *a, const mtf_shape *b)
{
    double work = 1;
    for (int i = 0; i < a->ndims; i++) work *= (double)a->dims[i].size;
    for (int i = 0; i < b->ndims; i++)
        if (shape_find(a, b->dims[i].name) < 0) work *= (double)b->dims[i].size;
    return work;
}

/* One product of two slices, keeping `kept`; `target` non-NULL: into this slice. */
static bool emit_pair(emitter *e, slice a, slice b, const mtf_shape *kept, mtf_dtype type,
                      const slice *target, slice *out)
{
    slice *both[2] = {&a, &b};
    for (int k = 0; k < 2; k++) { /* what one factor has and nothing else needs is summed first */
        mtf_shape mine = {0};
        for (int i = 0; i < both[k]->shape.ndims; i++) {
            mtf_dim d = both[k]->shape.dims[i];
            if (shape_find(kept, d.name) >= 0 || shape_find(&both[1 - k]->shape, d.name) >= 0)
                mine.dims[mine.ndims++] = d;
        }
        if (mine.ndims == both[k]->shape.ndims) continue;
        slice sum = emit_fresh(e, dtype_compute(type), &mine);
        TRY(emit_fold(e, FOLD_SUM, both[k], &sum));
        *both[k] = sum;
    }
    bool      summed = !shape_within(&a.shape, kept);
    scalar_fn fn = type == MTF_BOOL ? FN_logical_and : FN_multiply;
    bool      uniform = slice_is_uniform(&a) && slice_is_uniform(&b);
    scalar    folded = uniform ? scalar_eval(fn, type, a.value, b.value) : (scalar){0};
    if (uniform && !target && !summed) {
        *out = slice_of_scalar(folded, type, kept);
        return true;
    }
    *out = target ? *target : emit_fresh(e, type, kept);
    if (summed) return emit_contract(e, &a, &b, out);
    if (uniform) return emit_fill(e, folded.real, out);
    return emit_scalar(e, fn, 2, (slice[]){a, b}, out);
}

static bool too_wide(const node *n)
{
    return node_fail(n, ERR_SHAPE,
                     "in whatever order its %d inputs are multiplied, some intermediate product "
                     "has more than %d dimensions; sum some of them first",
                     n->nargs, MTF_MAX_DIMS);
}

/* Best way to split a set of factors in two, by dynamic programming over subsets. */
static bool best_splits(emitter *e, const node *n, const plan *p, unsigned *split)
{
    unsigned   full = (1u << p->count) - 1;
    arena     *scratch = &e->program->arena;
    double    *cost = arena_array(scratch, double, full + 1);
    mtf_shape *shape = arena_array(scratch, mtf_shape, full + 1);
    TRY(cost && shape);
    for (unsigned set = 1; set <= full; set++) {
        shape[set] = (set & (set - 1)) ? needed(p, set) : (mtf_shape){0};
        for (int i = 0; i < p->count; i++)
            if (set == 1u << i) shape[set] = p->factor[i].shape;
        if (!(set & (set - 1))) continue;
        cost[set] = -1;
        for (unsigned part = (set - 1) & set; part; part = (part - 1) & set) {
            unsigned other = set & ~part;
            if (part < other || cost[part] < 0 || cost[other] < 0) continue;
            double c = cost[part] + cost[other] + pair_work(&shape[part], &shape[other]);
            if (cost[set] < 0 || c < cost[set]) cost[set] = c, split[set] = part;
        }
        if (shape[set].ndims < 0 && set != full) cost[set] = -1;
    }
    return cost[full] >= 0 || too_wide(n);
}

static bool emit_set(emitter *e, const plan *p, const unsigned *split, unsigned set, mtf_dtype type,
                     const slice *target, slice *out)
{
    for (int i = 0; i < p->count; i++)
        if (set == 1u << i) {
            *out = p->factor[i];
            return true;
        }
    slice a, b;
    TRY(emit_set(e, p, split, split[set], dtype_compute(type), NULL, &a));
    TRY(emit_set(e, p, split, set & ~split[set], dtype_compute(type), NULL, &b));
    mtf_shape kept = target ? target->shape : needed(p, set);
    return emit_pair(e, a, b, &kept, type, target, out);
}

/* Many factors: the cheapest pair first, until the exhaustive search can take over. */
static bool shrink(emitter *e, const node *n, plan *p, mtf_dtype type)
{
    while (p->count > EXHAUSTIVE) {
        int    a = 0, b = 1;
        double best = -1;
        for (int i = 0; i < p->count; i++)
            for (int j = i + 1; j < p->count; j++) {
                double w = pair_work(&p->factor[i].shape, &p->factor[j].shape);
                if (best >= 0 && w >= best) continue;
                if (needed(p, 1u << i | 1u << j).ndims >= 0) best = w, a = i, b = j;
            }
        if (best < 0) return too_wide(n);
        mtf_shape kept = needed(p, 1u << a | 1u << b);
        slice     product;
        TRY(emit_pair(e, p->factor[a], p->factor[b], &kept, dtype_compute(type), NULL, &product));
        p->factor[a] = product;
        p->factor[b] = p->factor[--p->count];
    }
    return true;
}

/* The uniform inputs (one number everywhere), taken out of the product: the order of integer
 * factors does not matter.  `count`: the size of all dimensions that only they have and that the
 * output lacks. */
typedef struct constants {
    int     n;
    scalar  value[32];
    int64_t count;
    bool    ones; /* each of them is 1, and none of their dimensions is summed */
} constants;

static constants take_out_uniform(const node *n, const slice *in, plan *p)
{
    constants c = {.count = 1, .ones = true};
    for (int i = 0; i < n->nargs; i++)
        if (!slice_is_uniform(&in[i])) p->factor[p->count++] = in[i];
    for (int i = 0; i < n->nargs; i++) {
        if (!slice_is_uniform(&in[i])) continue;
        c.value[c.n++] = in[i].value;
        c.ones = c.ones && dtype_real(in[i].type, in[i].value) == 1 &&
                 shape_within(&in[i].shape, &p->kept);
        for (int d = 0; d < in[i].shape.ndims; d++) {
            mtf_dim dim = in[i].shape.dims[d];
            bool    seen = shape_find(&p->kept, dim.name) >= 0 || factors_have(p, ~0u, dim.name);
            for (int j = 0; j < i; j++)
                seen =
                    seen || (slice_is_uniform(&in[j]) && shape_find(&in[j].shape, dim.name) >= 0);
            if (!seen) c.count = (int64_t)((uint64_t)c.count * (uint64_t)dim.size);
        }
    }
    return c;
}

/* Results of floats depend on the order, so constants stay in place among the factors; but not
 * where they only multiply one factor by 1. */
static bool stays_among_factors(const node *n, const constants *c, const plan *p)
{
    bool alone = p->count == 1 && shape_within(&p->factor[0].shape, &p->kept);
    return dtype_is_float(n->out[0]->type) && !(alone && c->ones);
}

static bool emit_one_factor(emitter *e, const plan *p, mtf_dtype type, slice *out)
{
    slice x = p->factor[0];
    if (shape_within(&x.shape, &p->kept)) {
        *out = x;
        if (x.type == type) return true;
        *out = emit_fresh(e, type, &x.shape);
        return emit_cast(e, &x, out);
    }
    mtf_shape inner = mtf_shape_minus(p->kept, mtf_shape_minus(p->kept, x.shape));
    *out = emit_fresh(e, type, &inner);
    return emit_fold(e, FOLD_SUM, &x, out);
}

static bool lower(emitter *e, const node *n, const slice *in, slice *out)
{
    slice want = out[0];
    plan  p; /* large, so not zeroed: only `count` factors are set */
    p.count = 0;
    p.kept = want.shape;
    if (n->nargs > 32) return node_fail(n, ERR_SHAPE, "at most 32 inputs");
    constants c = take_out_uniform(n, in, &p);
    scalar    factor = {0};
    bool      folds = scalar_sum_of_products(want.type, c.n, c.value, c.count, &factor);
    if (p.count == 0 && folds) {
        out[0] = slice_of_scalar(factor, want.type, &want.shape);
        return true;
    }
    if (c.n && stays_among_factors(n, &c, &p)) {
        for (p.count = 0; p.count < n->nargs; p.count++) p.factor[p.count] = in[p.count];
        c.n = 0;
    }
    /* Dimensions that no factor has are repeated at the end: the product itself lacks them. */
    p.kept = (mtf_shape){0};
    for (int d = 0; d < want.shape.ndims; d++)
        if (factors_have(&p, ~0u, want.shape.dims[d].name))
            p.kept.dims[p.kept.ndims++] = want.shape.dims[d];
    slice product;
    if (p.count == 1) {
        TRY(emit_one_factor(e, &p, want.type, &product));
    } else {
        TRY(shrink(e, n, &p, want.type));
        unsigned split[1u << EXHAUSTIVE];
        slice    target = emit_fresh(e, want.type, &p.kept);
        split[3] = 2; /* the only way to split two factors */
        if (p.count > 2) TRY(best_splits(e, n, &p, split));
        TRY(emit_set(e, &p, split, (1u << p.count) - 1, want.type, &target, &product));
    }
    if (c.n && dtype_real(want.type, factor) != 1) {
        slice scaled = emit_fresh(e, want.type, &product.shape);
        slice by = slice_of_scalar(factor, want.type, &(mtf_shape){0});
        TRY(emit_scalar(e, want.type == MTF_BOOL ? FN_logical_and : FN_multiply, 2,
                        (slice[]){product, by}, &scaled));
        product = scaled;
    }
    out[0] = slice_as(&product, &want.shape);
    return true;
}

static dim_split split_rule(const node *n, const char *dim)
{
    if (shape_find(&n->out[0]->shape, dim) >= 0) return SPLIT_FREE;
    return n->out[0]->type == MTF_BOOL ? SPLIT_WHOLE : SPLIT_SUM;
}

static void product(const node *n, op_product *p)
{
    enum { ROOM = sizeof p->dims / sizeof *p->dims };
    *p = (op_product){.name = "einsum"};
    for (int i = 0; i < n->nargs; i++)
        for (int d = 0; d < n->in[i]->shape.ndims; d++) {
            mtf_dim dim = n->in[i]->shape.dims[d];
            bool    known = false;
            for (int k = 0; k < p->ndims && !known; k++)
                known = strcmp(p->dims[k].name, dim.name) == 0;
            if (known) continue;
            if (p->ndims < ROOM)
                p->dims[p->ndims++] = dim;
            else /* the total stays right, but not how this dimension is cut */
                p->dims[ROOM - 1].size = saturate_times(p->dims[ROOM - 1].size, dim.size);
        }
}

const op op_einsum = {
    .name = "einsum",
    .says =
        "multiplies its inputs, then sums every dimension the output lacks; without an output "
        "shape, the dimensions of `over`, else those in two or more inputs, are summed; an output "
        "dimension that no input has repeats the result; products of f8 are f32, or bf16 where the "
        "line says so",
    .args = "xs...",
    .attrs = (const attr_spec[]){{"over", ATTR_NAMES, "()", "dimensions to sum"},
                                 {"shape", ATTR_SHAPE, NULL, "the output"},
                                 {"type", ATTR_TYPE, "f32", "of products of f8"},
                                 {0}},
    .flags = OP_F8,
    .infer = infer,
    .grad = grad,
    .lower = lower,
    .split = split_rule,
    .debt = debt_product,
    .product = product,
};

/* ---- public functions ---- */

mtf_tensor *mtf_einsum_n(mtf_shape output, int n, mtf_tensor *const *xs)
{
    return product_of(n, xs, output, MTF_F32);
}

mtf_tensor *einsum_short(mtf_shape output, int n, mtf_tensor *const *xs)
{
    return product_of(n, xs, output, MTF_BF16);
}

mtf_tensor *mtf_einsum_over(mtf_shape reduced, int n, mtf_tensor *const *xs)
{
    const char *names[MTF_SHAPE_ROOM];
    for (int i = 0; i < reduced.ndims; i++) names[i] = reduced.dims[i].name;
    attr attrs[] = {[OVER] = {.names = {reduced.ndims < 0 ? 0 : reduced.ndims, names}},
                    [SHAPE] = {.shape = reduced.ndims < 0 ? &reduced : NULL},
                    [TYPE] = {.type = MTF_F32}};
    return node_one(&op_einsum, n, xs, attrs);
}

mtf_tensor *mtf_matmul(mtf_tensor *a, mtf_tensor *b)
{
    return mtf_einsum_over(mtf_shape(), 2, (mtf_tensor *[]){a, b});
}

static void expand_matmul(op_call *c)
{
    if (c->shape)
        c->out[0] = mtf_einsum_n(*c->shape, 2, c->in);
    else
        c->out[0] = mtf_matmul(c->in[0], c->in[1]);
}

const op op_matmul = {
    .name = "matmul", .says = "einsum of two inputs", .args = "a, b", .expand = expand_matmul};
