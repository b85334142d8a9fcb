/* Definitions of gather, scatter_add and update. */
#include <string.h>

#include "rules.h"

/* The dimensions of gather's result, named as in x and the indices: the indexed dimension's own
 * name stands for the indices' where they have it, too. */
static void rule_gather(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    const char *dim = node_attr(n, "dim")->text;
    walk        w = walk_over(&out->shape);
    track       x = track_in(&w, &in[0]->shape), index = track_in(&w, &in[1]->shape);
    int64_t     size = mtf_shape_dim(in[0]->shape, dim).size, step = stride_of(&in[0]->shape, dim);
    int         both = walk_find(&w, dim);
    int64_t     i = 0;
    if (both >= 0) x.step[both] = 0;
    do {
        number  k = in[1]->at[track_at(&w, &index)];
        int64_t at = track_at(&w, &x);
        if (!number_known(k))
            out->at[i] = number_unknown();
        else
            out->at[i] =
                k.i < 0 || k.i >= size ? number_zero(out->type) : in[0]->at[at + k.i * step];
        i++;
    } while (walk_next(&w));
}

/* The transpose: each element of x joins the sum that its index says. */
static void rule_scatter_add(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    mtf_dim    dim = node_attr(n, "dim")->dim;
    attr_names keep = node_attr(n, "keep")->names;
    walk       w = walk_over(&in[0]->shape);
    walk_join(&w, &in[1]->shape);
    track x = track_in(&w, &in[0]->shape), index = track_in(&w, &in[1]->shape),
          to = track_in(&w, &out->shape);
    int64_t step = stride_of(&out->shape, dim.name), terms = w.count;
    /* A dimension of the indices that is not kept is gone, even where the new one has its name. */
    for (int d = 0; d < w.n; d++) {
        bool kept = mtf_shape_find(in[1]->shape, w.name[d]) < 0;
        for (int k = 0; k < keep.n; k++) kept = kept || !strcmp(keep.v[k], w.name[d]);
        if (!kept) to.step[d] = 0;
    }
    for (int64_t i = 0; i < out->n; i++) out->at[i] = number_zero(out->type);
    do {
        number  k = in[1]->at[track_at(&w, &index)], a = in[0]->at[track_at(&w, &x)];
        int64_t at = track_at(&w, &to);
        for (int64_t j = 0; !number_known(k) && j < dim.size; j++)
            out->at[at + j * step] = number_unknown();
        if (!number_known(k) || k.i < 0 || k.i >= dim.size) continue;
        number *sum = &out->at[at + k.i * step];
        *sum = number_add(*sum, a, out->type);
    } while (walk_next(&w));
    for (int64_t i = 0; i < out->n; i++) out->at[i] = number_rounded(out->at[i], out->type, terms);
}

/* Element p of the result is that of the value whose place is p, else x's own. */
static void rule_update(oracle *o, const node *n, const value *const *in, value *out)
{
    (void)o;
    const char *dim = node_attr(n, "dim")->text;
    walk        w = walk_over(&out->shape);
    track       from = track_in(&w, &in[1]->shape), position = track_in(&w, &in[2]->shape);
    int         along = walk_find(&w, dim);
    int64_t run = mtf_shape_find(in[1]->shape, dim) < 0 ? 1 : mtf_shape_dim(in[1]->shape, dim).size;
    int64_t step = run > 1 || from.step[along] ? stride_of(&in[1]->shape, dim) : 0, i = 0;
    from.step[along] = 0;
    do {
        number  first = in[2]->at[track_at(&w, &position)];
        int64_t place = w.at[along] - first.i;
        if (!number_known(first))
            out->at[i] = number_unknown();
        else if (place >= 0 && place < run)
            out->at[i] = in[1]->at[track_at(&w, &from) + place * step];
        else
            out->at[i] = in[0]->at[i];
        i++;
    } while (walk_next(&w));
}

const named_rule index_rules[] = {{"gather", rule_gather},
                                  {"scatter_add", rule_scatter_add},
                                  {"update", rule_update},
                                  {NULL, NULL}};
