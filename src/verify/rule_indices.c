/* Definitions of gather, scatter_add and update. */
#include <string.h>

#include "verify/rules.h"

/* The dimensions of gather's result, named as in x and the indices: the indexed dimension's own
 * name stands for the indices' where they have it, too. */
static bool rule_gather(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    const char *dim = node_attr(n, "dim")->text;
    tour        w = tour_over(out->shape);
    int         x = tour_track(&w, in[0].shape), index = tour_track(&w, in[1].shape);
    int64_t     size = mtf_shape_dim(*in[0].shape, dim).size, step = tour_stride(in[0].shape, dim);
    int         both = tour_find(&w, dim);
    int64_t     k = 0;
    (void)r;
    if (both >= 0) w.step[x][both] = 0;
    do {
        int64_t at = (int64_t)in[1].at[w.at[index]];
        out->at[k++] = at < 0 || at >= size ? 0 : in[0].at[w.at[x] + at * step];
    } while (tour_next(&w));
    out->degree = in[0].degree;
    return true;
}

/* The transpose: each element of x joins the sum that its index says. */
static bool rule_scatter_add(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)r;
    mtf_dim    dim = node_attr(n, "dim")->dim;
    attr_names keep = node_attr(n, "keep")->names;
    tour       w = tour_over(in[0].shape);
    tour_join(&w, in[1].shape);
    int x = tour_track(&w, in[0].shape), index = tour_track(&w, in[1].shape),
        to = tour_track(&w, out->shape);
    int64_t step = tour_stride(out->shape, dim.name);
    /* A dimension of the indices that is not kept is gone, even where the new one has its name. */
    for (int d = 0; d < w.n; d++) {
        bool kept = mtf_shape_find(*in[1].shape, w.name[d]) < 0;
        for (int k = 0; k < keep.n; k++) kept = kept || strcmp(keep.v[k], w.name[d]) == 0;
        if (!kept) w.step[to][d] = 0;
    }
    do {
        int64_t at = (int64_t)in[1].at[w.at[index]];
        if (at < 0 || at >= dim.size) continue;
        cell *sum = &out->at[w.at[to] + at * step];
        *sum = exact_add(out->type, *sum, in[0].at[w.at[x]]);
    } while (tour_next(&w));
    out->degree = in[0].degree;
    return true;
}

/* Element p of the result is that of the value whose place is p, else x's own. */
static bool rule_update(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    const char *dim = node_attr(n, "dim")->text;
    tour        w = tour_over(out->shape);
    int         from = tour_track(&w, in[1].shape), position = tour_track(&w, in[2].shape);
    int         d = tour_find(&w, dim);
    bool        has = mtf_shape_find(*in[1].shape, dim) >= 0;
    int64_t     run = has ? mtf_shape_dim(*in[1].shape, dim).size : 1;
    int64_t     step = w.step[from][d], k = 0;
    (void)r;
    w.step[from][d] = 0;
    do {
        int64_t place = w.index[d] - (int64_t)in[2].at[w.at[position]];
        bool    hit = place >= 0 && place < run;
        out->at[k] = hit ? in[1].at[w.at[from] + place * step] : in[0].at[k];
        k++;
    } while (tour_next(&w));
    out->degree = larger_degree(&in[0], &in[1]);
    return true;
}

const named_rule plain_index_rules[] = {{"gather", rule_gather},
                                        {"scatter_add", rule_scatter_add},
                                        {"update", rule_update},
                                        {NULL, NULL}};
