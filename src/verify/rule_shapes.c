/* Definitions of operations that move elements and change none. */
#include <string.h>

#include "verify/rules.h"

/* Repeats along dimensions that the input lacks, in any order of dimensions. */
static bool rule_by_name(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)r, (void)n;
    tour    w = tour_over(out->shape);
    int     from = tour_track(&w, in[0].shape);
    int64_t k = 0;
    do out->at[k++] = in[0].at[w.at[from]];
    while (tour_next(&w));
    out->degree = in[0].degree;
    return true;
}

static bool rule_same(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)r, (void)n;
    memcpy(out->at, in[0].at, sizeof(cell) * (size_t)out->n);
    out->degree = in[0].degree;
    return true;
}

/* Which element along dim stands at `at`; outside of 0 .. size-1: none. */
typedef int64_t source_of(const node *n, int64_t at, int64_t size);

static bool along(const node *n, const tensor_value *in, tensor_value *out, source_of *source,
                  cell otherwise)
{
    const char *dim = node_attr(n, "dim")->text;
    tour        w = tour_over(out->shape);
    int         from = tour_track(&w, in->shape), d = tour_find(&w, dim);
    int64_t     size = mtf_shape_dim(*in->shape, dim).size, step = w.step[from][d], k = 0;
    w.step[from][d] = 0;
    do {
        int64_t at = source(n, w.index[d], size);
        out->at[k++] = at < 0 || at >= size ? otherwise : in->at[w.at[from] + at * step];
    } while (tour_next(&w));
    out->degree = in->degree;
    return true;
}

static int64_t slice_source(const node *n, int64_t at, int64_t size)
{
    (void)size;
    return node_attr(n, "begin")->i + at * node_attr(n, "step")->i;
}

static int64_t pad_source(const node *n, int64_t at, int64_t size)
{
    int64_t step = node_attr(n, "between")->i + 1, from = at - node_attr(n, "before")->i;
    (void)size;
    return from < 0 || from % step ? -1 : from / step;
}

static int64_t reverse_source(const node *n, int64_t at, int64_t size)
{
    (void)n;
    return size - 1 - at;
}

static int64_t shift_source(const node *n, int64_t at, int64_t size)
{
    int64_t offset = node_attr(n, "offset")->i;
    if (!node_attr(n, "wrap")->b) return offset > size || offset < -size ? -1 : at - offset;
    return (((at - offset % size) % size) + size) % size;
}

static bool rule_slice(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)r;
    return along(n, in, out, slice_source, 0);
}

static bool rule_pad(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    scalar v = number_as(out->type, node_attr(n, "value")->number);
    (void)r;
    return along(n, in, out, pad_source, exact_constant(out->type, v));
}

static bool rule_reverse(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)r;
    return along(n, in, out, reverse_source, 0);
}

static bool rule_shift(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)r;
    return along(n, in, out, shift_source, 0);
}

/* Each input's elements, behind those of the inputs before it. */
static bool rule_concat(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    const char *dim = node_attr(n, "dim")->text;
    int64_t     step = tour_stride(out->shape, dim), before = 0;
    (void)r;
    for (int k = 0; k < n->nargs; k++) {
        tour w = tour_over(in[k].shape);
        int  to = tour_track(&w, out->shape), from = tour_track(&w, in[k].shape);
        do out->at[w.at[to] + before * step] = in[k].at[w.at[from]];
        while (tour_next(&w));
        before += mtf_shape_dim(*in[k].shape, dim).size;
        out->degree = fmax(out->degree, in[k].degree);
    }
    return true;
}

const named_rule plain_shape_rules[] = {{"broadcast", rule_by_name},
                                        {"transpose", rule_by_name},
                                        {"reshape", rule_same},
                                        {"slice", rule_slice},
                                        {"pad", rule_pad},
                                        {"reverse", rule_reverse},
                                        {"shift", rule_shift},
                                        {"concat", rule_concat},
                                        {"stop_gradient", rule_same},
                                        {"depend", rule_same},
                                        {"print", rule_same},
                                        {"scalar_summary", rule_same},
                                        {NULL, NULL}};
