/* Definitions of operations that move elements and change none. */
#include <string.h>

#include "rules.h"

/* Repeats along dimensions that the input lacks, in any order of dimensions. */
static void rule_by_name(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o, (void)n;
    walk    w = walk_over(&out->shape);
    track   from = track_in(&w, &in[0]->shape);
    int64_t i = 0;
    do out->at[i++] = in[0]->at[track_at(&w, &from)];
    while (walk_next(&w));
}

static void rule_same(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o, (void)n;
    memcpy(out->at, in[0]->at, sizeof(number) * (size_t)out->n);
}

/* Which element along dim stands at `at`, or -1; `x` and `out` are the sizes. */
typedef int64_t source_of(const node *n, int64_t at, int64_t x);

static void along(const node *n, const value *in, value *out, source_of *source, number otherwise)
{
    const char *dim = node_attr(n, "dim")->text;
    walk        w = walk_over(&out->shape);
    track       from = track_in(&w, &in->shape);
    int         d = walk_find(&w, dim);
    int64_t     size = mtf_shape_dim(in->shape, dim).size, step = from.step[d], i = 0;
    from.step[d] = 0;
    do {
        int64_t k = source(n, w.at[d], size);
        out->at[i++] = k < 0 || k >= size ? otherwise : in->at[track_at(&w, &from) + k * step];
    } while (walk_next(&w));
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

static void rule_slice(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    along(n, in[0], out, slice_source, number_unknown());
}

static void rule_pad(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    attr_number v = node_attr(n, "value")->number;
    number otherwise = !is_real(out->type) ? number_int(v.whole ? v.i : (int64_t)v.r, out->type)
                                           : number_written(v.r, out->type);
    along(n, in[0], out, pad_source, otherwise);
}

static void rule_reverse(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    along(n, in[0], out, reverse_source, number_unknown());
}

static void rule_shift(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    along(n, in[0], out, shift_source, number_zero(out->type));
}

static void rule_concat(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    const char *dim = node_attr(n, "dim")->text;
    walk        w = walk_over(&out->shape);
    int         d = walk_find(&w, dim);
    int64_t     i = 0;
    do {
        int64_t at = w.at[d], size;
        int     k = 0;
        while (at >= (size = mtf_shape_dim(in[k]->shape, dim).size)) at -= size, k++;
        track   from = track_in(&w, &in[k]->shape);
        int64_t step = from.step[d];
        from.step[d] = 0;
        out->at[i++] = in[k]->at[track_at(&w, &from) + at * step];
    } while (walk_next(&w));
}

const named_rule shape_rules[] = {{"broadcast", rule_by_name},
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
