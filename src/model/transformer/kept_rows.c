/* The rows of a cache that a program uses. */
#include "model/transformer/kept_rows.h"

#include "graph/node.h"

static const char within[] = "part_rows";

/* [.., all, ..] to [.., parts, rows of a part, ..]; `all` may be those in use. */
static mtf_tensor *apart(const kept_rows *r, mtf_tensor *x)
{
    if (!graph_of(x)) return NULL;
    mtf_dim   rows = mtf_shape_dim(x->shape, r->all.name);
    mtf_shape two =
        mtf_shape((mtf_dim){rows.name, r->parts}, (mtf_dim){within, rows.size / r->parts});
    return mtf_reshape(x, mtf_shape_replace(x->shape, mtf_shape(rows), two));
}

/* The inverse. */
static mtf_tensor *together(const kept_rows *r, mtf_tensor *x)
{
    if (!graph_of(x)) return NULL;
    mtf_dim part = mtf_shape_dim(x->shape, r->all.name), rows = mtf_shape_dim(x->shape, within);
    mtf_dim all = {part.name, part.size * rows.size};
    return mtf_reshape(x, mtf_shape_replace(x->shape, mtf_shape(part, rows), mtf_shape(all)));
}

mtf_tensor *kept_rows_take(const kept_rows *r, mtf_tensor *x)
{
    if (r->used == r->all.size) return x;
    if (r->parts == 1) return mtf_slice(x, r->all.name, 0, r->used, 1);
    return together(r, mtf_slice(apart(r, x), within, 0, r->used / r->parts, 1));
}

mtf_tensor *kept_rows_spread(const kept_rows *r, mtf_tensor *x, double value)
{
    mtf_pad_opts o = {.after = (r->all.size - r->used) / r->parts, .value = value};
    if (o.after == 0) return x;
    if (r->parts == 1) return mtf_pad(x, r->all.name, &o);
    return together(r, mtf_pad(apart(r, x), within, &o));
}

mtf_tensor *kept_rows_put(const kept_rows *r, mtf_tensor *x, mtf_tensor *y)
{
    if (r->used == r->all.size || !graph_of(x)) return y;
    mtf_tensor *begin = mtf_constant(graph_of(x), 0, MTF_I32, mtf_shape());
    if (r->parts == 1) return mtf_update(x, y, begin, r->all.name);
    return together(r, mtf_update(apart(r, x), apart(r, y), begin, within));
}

mtf_tensor *kept_rows_move(const kept_rows *r, mtf_tensor *x, mtf_tensor *from, mtf_tensor *to)
{
    mtf_dim     rows = {within, r->all.size / r->parts};
    mtf_tensor *split = apart(r, x);
    return together(r, mtf_update(split, mtf_gather(split, from, rows), to, within));
}
