/* Definitions of sums and products over dimensions. */
#include <string.h>

#include "rules.h"

/* Multiplies all inputs; adds up what falls on one element of the output. */
static void rule_einsum(oracle *o, const node *n, const value *const *in, value *out)
{
    walk  w = walk_over(&out->shape);
    track to, from[64];
    for (int k = 0; k < n->nargs; k++) walk_join(&w, &in[k]->shape);
    to = track_in(&w, &out->shape);
    for (int k = 0; k < n->nargs; k++) from[k] = track_in(&w, &in[k]->shape);
    o->work += w.count * n->nargs;
    if (o->work > MOST_WORK) {
        oracle_fail(o, "too much work");
        return;
    }
    for (int64_t i = 0; i < out->n; i++) out->at[i] = number_zero(out->type);
    do {
        number product = in[0]->at[track_at(&w, &from[0])];
        for (int k = 1; k < n->nargs; k++)
            product = number_mul(product, in[k]->at[track_at(&w, &from[k])], out->type);
        number *sum = &out->at[track_at(&w, &to)];
        *sum = number_add(*sum, product, out->type);
    } while (walk_next(&w));
    int64_t terms = (w.count / out->n) * n->nargs;
    for (int64_t i = 0; i < out->n; i++) out->at[i] = number_rounded(out->at[i], out->type, terms);
}

static void rule_prod(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o, (void)n;
    walk      w = walk_over(&in[0]->shape);
    track     to = track_in(&w, &out->shape);
    int64_t   i = 0, factors = in[0]->n / out->n;
    mtf_dtype type = number_summed_in(out->type);
    for (int64_t k = 0; k < out->n; k++)
        out->at[k] = is_real(out->type) ? number_real(1) : number_int(1, out->type);
    do {
        number *product = &out->at[track_at(&w, &to)];
        *product = number_rounded(number_mul(*product, in[0]->at[i++], type), type, 1);
    } while (walk_next(&w));
    /* Factors in another order: any part of the product may have been rounded. */
    for (int64_t k = 0; k < out->n; k++) {
        if (out->at[k].slack > 0) out->at[k] = number_rounded(out->at[k], type, factors);
        if (type != out->type) out->at[k] = number_rounded(out->at[k], out->type, 1);
    }
}

/* Element i is the sum of those up to i along dim; without i itself where exclusive. */
static void rule_cumsum(oracle *o, const node *n, const value *const *in, value *out)
{
    const char *dim = node_attr(n, "dim")->text;
    bool        exclusive = node_attr(n, "exclusive")->b, reverse = node_attr(n, "reverse")->b;
    walk        w = walk_over(&out->shape);
    int         d = walk_find(&w, dim);
    int64_t     stride = stride_of(&out->shape, dim), size = w.size[d], i = 0;
    o->work += out->n * size;
    do {
        number sum = number_zero(out->type);
        for (int64_t k = 0; k < size; k++) {
            int64_t ahead = reverse ? k - w.at[d] : w.at[d] - k; /* how far k lies before */
            if (ahead < (exclusive ? 1 : 0)) continue;
            sum = number_add(sum, in[0]->at[i + (k - w.at[d]) * stride], out->type);
        }
        out->at[i++] = number_rounded(sum, out->type, size);
    } while (walk_next(&w));
}

/* The sum of x times y over those pairs of a row and a group in which the row is in the group. */
static void rule_grouped_einsum(oracle *o, const node *n, const value *const *in, value *out)
{
    walk        w = walk_over(&out->shape);
    const char *rows = node_attr(n, "rows")->text, *group = NULL;
    for (int d = 0; d < in[2]->shape.ndims; d++)
        if (shape_find(&in[0]->shape, in[2]->shape.dims[d].name) < 0)
            group = in[2]->shape.dims[d].name;
    for (int k = 0; k < 3; k++) walk_join(&w, &in[k]->shape);
    track   to = track_in(&w, &out->shape), x = track_in(&w, &in[0]->shape);
    track   y = track_in(&w, &in[1]->shape), ends = track_in(&w, &in[2]->shape);
    int64_t between = stride_of(&in[2]->shape, group), terms = 1;
    int     row = walk_find(&w, rows), wanted = walk_find(&w, group);
    o->work += w.count * 3;
    if (o->work > MOST_WORK) {
        oracle_fail(o, "too much work");
        return;
    }
    for (int64_t i = 0; i < out->n; i++) out->at[i] = number_zero(out->type);
    do {
        const number *end = &in[2]->at[track_at(&w, &ends)];
        bool          mine = w.at[row] < end->i;
        for (int64_t g = 1; g <= w.at[wanted]; g++) mine = mine && w.at[row] >= end[-g * between].i;
        if (!mine) continue;
        number *sum = &out->at[track_at(&w, &to)];
        *sum = number_add(
            *sum, number_mul(in[0]->at[track_at(&w, &x)], in[1]->at[track_at(&w, &y)], out->type),
            out->type);
    } while (walk_next(&w));
    terms = w.count / out->n;
    for (int64_t i = 0; i < out->n; i++) out->at[i] = number_rounded(out->at[i], out->type, terms);
}

/* e^y / e^x */
static double ratio(double y, double x)
{
    return y == x ? 1 : exp(y - x);
}

/* e^x over the sum of e^x along dim, and e^extra where there is an extra logit. */
static void rule_softmax(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    const char *dim = node_attr(n, "dim")->text;
    walk        w = walk_over(&out->shape);
    int         d = walk_find(&w, dim);
    int64_t     stride = stride_of(&out->shape, dim), size = w.size[d], i = 0;
    track       extra = n->nin > 1 ? track_in(&w, &in[1]->shape) : (track){{0}};
    do {
        double sum = 0, off = 0;
        number x = in[0]->at[i];
        for (int64_t k = 0; k < size; k++) {
            number y = in[0]->at[i + (k - w.at[d]) * stride];
            sum += ratio(y.v, x.v);
            off = fmax(off, y.slack);
        }
        if (n->nin > 1) {
            number y = in[1]->at[track_at(&w, &extra)];
            sum += ratio(y.v, x.v);
            off = fmax(off, y.slack);
        }
        double share = 1 / sum,
               rounding = ldexp((double)size + 64, out->type == MTF_F64 ? -52 : -23);
        bool none = isinf(x.v) && !isinf(sum); /* of infinite ones among themselves */
        out->at[i++] =
            none ? number_unknown()
                 : number_made(share, share * (expm1(2 * off) + rounding), false, out->type);
    } while (walk_next(&w));
}

const named_rule sum_rules[] = {{"einsum", rule_einsum},
                                {"grouped_einsum", rule_grouped_einsum},
                                {"reduce_sum", rule_einsum},
                                {"reduce_prod", rule_prod},
                                {"cumsum", rule_cumsum},
                                {"softmax", rule_softmax},
                                {NULL, NULL}};
