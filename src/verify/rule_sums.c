/* Definitions of sums and products over dimensions. */
#include <assert.h>
#include <string.h>

#include "verify/rules.h"

/* A row of products: where it begins in the factors and the sum, and the steps from one to the next. */
typedef struct row {
    const cell *a, *b;
    cell       *to;
    int64_t     n, a_step, b_step, to_step;
} row;

/* to[k] += a[k] * b[k]; most rows fall on one element. */
static void add_row(mtf_dtype type, const row *r)
{
    if (!exact_is_real(type)) {
        for (int64_t k = 0; k < r->n; k++) {
            cell *to = &r->to[k * r->to_step];
            *to = exact_add(type, *to, exact_mul(type, r->a[k * r->a_step], r->b[k * r->b_step]));
        }
    } else if (r->to_step) {
        for (int64_t k = 0; k < r->n; k++) {
            cell *to = &r->to[k * r->to_step];
            *to = field_add(*to, field_mul(r->a[k * r->a_step], r->b[k * r->b_step]));
        }
    } else {
        *r->to = field_add(*r->to, field_dot(r->n, r->a, r->a_step, r->b, r->b_step));
    }
}

/* Adds the products of two tensors to those elements of `out` on which they fall. */
static void add_products(const tensor_value *a, const tensor_value *b, tensor_value *out)
{
    tour w = tour_over(out->shape);
    tour_join(&w, a->shape);
    tour_join(&w, b->shape);
    int first = tour_track(&w, a->shape), second = tour_track(&w, b->shape);
    int to = tour_track(&w, out->shape);
    row r = {.n = tour_row(&w),
             .a_step = tour_row_step(&w, first),
             .b_step = tour_row_step(&w, second),
             .to_step = tour_row_step(&w, to)};
    do {
        r.a = &a->at[w.at[first]], r.b = &b->at[w.at[second]], r.to = &out->at[w.at[to]];
        add_row(out->type, &r);
    } while (tour_next_row(&w));
}

static void add_all(const tensor_value *a, tensor_value *out)
{
    tour w = tour_over(out->shape);
    tour_join(&w, a->shape);
    int from = tour_track(&w, a->shape), to = tour_track(&w, out->shape);
    do {
        cell *sum = &out->at[w.at[to]];
        *sum = exact_add(out->type, *sum, a->at[w.at[from]]);
    } while (tour_next(&w));
}

/* Is the dimension in the result of n, or in an input from `first` on? */
static bool is_needed(const node *n, int first, const char *dim)
{
    bool found = shape_find(&n->out[0]->shape, dim) >= 0;
    for (int k = first; k < n->nargs; k++) found = found || shape_find(&n->in[k]->shape, dim) >= 0;
    return found;
}

/* The dimensions of the product of two tensors, without those that nothing after input k needs; false: they
 * are more than a shape holds. */
static bool joined_shape(const node *n, int k, const mtf_shape *a, const mtf_shape *b,
                         mtf_shape *shape)
{
    *shape = (mtf_shape){0};
    for (int i = 0; i < 2; i++) {
        const mtf_shape *of = i ? b : a;
        for (int d = 0; d < of->ndims; d++) {
            if (shape_find(shape, of->dims[d].name) >= 0 || !is_needed(n, k + 1, of->dims[d].name))
                continue;
            if (shape->ndims == MTF_SHAPE_ROOM) return false;
            shape->dims[shape->ndims++] = of->dims[d];
        }
    }
    return true;
}

static bool join(reference *r, const node *n, int k, const tensor_value *a, const tensor_value *b,
                 tensor_value *both)
{
    mtf_shape *shape = arena_new(&r->scratch, mtf_shape);
    TRY(shape != NULL);
    joined_shape(n, k, a->shape, b->shape, shape);
    *both = (tensor_value){a->type, shape, shape_size(shape), NULL, a->degree + b->degree};
    TRY(mtf_ok(r->graph->session) && (both->at = reference_room(r, both->n)) != NULL);
    add_products(a, b, both);
    return true;
}

/* Can inputs be multiplied one after the other, in tensors that are shapes? */
static bool can_join(const node *n)
{
    mtf_shape product = n->in[0]->shape, more;
    for (int k = 1; k + 1 < n->nargs; k++) {
        if (!joined_shape(n, k, &product, &n->in[k]->shape, &more)) return false;
        product = more;
    }
    return true;
}

static bool multiply_at_once(const node *n, const tensor_value *in, tensor_value *out)
{
    tour w = tour_over(out->shape);
    int  track[TOUR_TRACKS];
    assert(n->nargs > 0);
    if (n->nargs >= TOUR_TRACKS)
        return node_fail(n, ERR_SHAPE,
                         "its factors have too many dimensions together to be verified");
    for (int k = 0; k < n->nargs; k++) tour_join(&w, in[k].shape);
    for (int k = 0; k < n->nargs; k++) track[k] = tour_track(&w, in[k].shape);
    int to = tour_track(&w, out->shape);
    do {
        cell product = in[0].at[w.at[track[0]]];
        for (int k = 1; k < n->nargs; k++)
            product = exact_mul(out->type, product, in[k].at[w.at[track[k]]]);
        out->at[w.at[to]] = exact_add(out->type, out->at[w.at[to]], product);
    } while (tour_next(&w));
    for (int k = 0; k < n->nargs; k++) out->degree += in[k].degree;
    return true;
}

/* Multiplies all inputs, and adds up what falls on one element of the output. */
static bool rule_einsum(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    tensor_value product = in[0];
    if (!can_join(n)) return multiply_at_once(n, in, out);
    for (int k = 1; k + 1 < n->nargs; k++) {
        tensor_value more;
        TRY(join(r, n, k, &product, &in[k], &more));
        product = more;
    }
    out->degree = product.degree;
    if (n->nargs < 2) {
        add_all(&product, out);
        return true;
    }
    out->degree += in[n->nargs - 1].degree;
    add_products(&product, &in[n->nargs - 1], out);
    return true;
}

/* How many ends of the groups up to this one, in their dimension's order, lie above the row: 1 where the row
 * is in this group. */
static int64_t ends_above(const cell *ends, int64_t group, int64_t between, int64_t at)
{
    int64_t n = 0;
    for (int64_t g = 0; g <= group; g++) n += at < (int64_t)ends[g * between];
    return n;
}

static bool rule_grouped_einsum(reference *r, const node *n, const tensor_value *in,
                                tensor_value *out)
{
    (void)r;
    const char *rows = node_attr(n, "rows")->text;
    mtf_dim     group = mtf_shape_minus(*in[2].shape, *in[0].shape).dims[0];
    tour        w = tour_over(out->shape);
    for (int k = 0; k < 3; k++) tour_join(&w, in[k].shape);
    int to = tour_track(&w, out->shape), x = tour_track(&w, in[0].shape),
        y = tour_track(&w, in[1].shape), ends = tour_track(&w, in[2].shape);
    int     here = tour_find(&w, rows), number = tour_find(&w, group.name);
    int64_t between = tour_stride(in[2].shape, group.name);
    out->degree = in[0].degree + in[1].degree;
    do {
        int64_t g = w.index[number];
        if (w.index[here] >= (int64_t)in[2].at[w.at[ends]] ||
            ends_above(&in[2].at[w.at[ends] - g * between], g, between, w.index[here]) != 1)
            continue;
        cell *sum = &out->at[w.at[to]];
        *sum =
            exact_add(out->type, *sum, exact_mul(out->type, in[0].at[w.at[x]], in[1].at[w.at[y]]));
    } while (tour_next(&w));
    return true;
}

static bool rule_prod(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)r, (void)n;
    tour    w = tour_over(in[0].shape);
    int     to = tour_track(&w, out->shape);
    int64_t k = 0;
    for (int64_t e = 0; e < out->n; e++) out->at[e] = 1;
    do {
        cell *product = &out->at[w.at[to]];
        *product = exact_mul(out->type, *product, in[0].at[k++]);
    } while (tour_next(&w));
    out->degree = in[0].degree * (double)in[0].n / (double)(out->n ? out->n : 1);
    return true;
}

/* Element i is the sum of those up to i along dim; without i itself where exclusive. */
static bool rule_cumsum(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)r;
    const char *dim = node_attr(n, "dim")->text;
    bool        exclusive = node_attr(n, "exclusive")->b, reverse = node_attr(n, "reverse")->b;
    tour        w = tour_over(out->shape);
    int         d = tour_find(&w, dim);
    int64_t     stride = tour_stride(out->shape, dim), size = w.size[d], i = 0;
    do {
        cell sum = 0;
        for (int64_t k = 0; k < size; k++) {
            int64_t ahead = reverse ? k - w.index[d] : w.index[d] - k; /* how far k lies before */
            if (ahead < (exclusive ? 1 : 0)) continue;
            sum = exact_add(out->type, sum, in[0].at[i + (k - w.index[d]) * stride]);
        }
        out->at[i++] = sum;
    } while (tour_next(&w));
    out->degree = in[0].degree;
    return true;
}

/* The number that is subtracted before the exponential: the maximum, cut to what the type holds. */
static cell subtracted(const exact *x, const tensor_value *in, int64_t first, int64_t size,
                       int64_t stride, const cell *extra)
{
    double most = in->type == MTF_F16 ? 6e4 : 1e38;
    cell   m = in->at[first];
    for (int64_t k = 1; k < size; k++)
        m = exact_best(x, FOLD_MAX, MTF_F64, m, in->at[first + k * stride]);
    if (extra) m = exact_best(x, FOLD_MAX, MTF_F64, m, *extra);
    m = exact_best(x, FOLD_MAX, MTF_F64, m, field_of_double(-most));
    return exact_best(x, FOLD_MIN, MTF_F64, m, field_of_double(most));
}

/* e^x over the sum of e^x along dim, and e^extra where there is an extra logit. */
static bool rule_softmax(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    const exact *x = &r->exact;
    const char  *dim = node_attr(n, "dim")->text;
    mtf_dim      along = mtf_shape_dim(*out->shape, dim);
    mtf_shape    rest = mtf_shape_minus(*out->shape, mtf_shape(along));
    int64_t      stride = tour_stride(out->shape, dim);
    tour         w = tour_over(&rest);
    int          at = tour_track(&w, out->shape);
    int          more = n->nargs > 1 ? tour_track(&w, in[1].shape) : 0;
    do {
        const cell *extra = n->nargs > 1 ? &in[1].at[w.at[more]] : NULL;
        cell        m = subtracted(x, &in[0], w.at[at], along.size, stride, extra), sum = 0;
        if (extra) sum = exact_scalar(x, FN_exp, MTF_F64, field_sub(*extra, m), 0);
        for (int64_t k = 0; k < along.size; k++) {
            int64_t e = w.at[at] + k * stride;
            out->at[e] = exact_scalar(x, FN_exp, MTF_F64, field_sub(in[0].at[e], m), 0);
            sum = field_add(sum, out->at[e]);
        }
        cell inverse = exact_inverse(x, sum);
        for (int64_t k = 0; k < along.size; k++) {
            cell *y = &out->at[w.at[at] + k * stride];
            *y = field_mul(*y, inverse);
        }
    } while (tour_next(&w));
    note_hashed(r, n->nargs > 1 ? larger_degree(&in[0], &in[1]) : in[0].degree);
    out->degree = 2;
    return true;
}

const named_rule plain_sum_rules[] = {{"einsum", rule_einsum},
                                      {"grouped_einsum", rule_grouped_einsum},
                                      {"reduce_sum", rule_einsum},
                                      {"reduce_prod", rule_prod},
                                      {"cumsum", rule_cumsum},
                                      {"softmax", rule_softmax},
                                      {NULL, NULL}};
