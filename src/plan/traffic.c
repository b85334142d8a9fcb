/* Traffic: what a collective moves between processors. */
#include "plan/traffic.h"

#include <string.h>

/* ---- kinds and axes ---- */

static bool starts_with(const axis_list *whole, const axis_list *head)
{
    return head->n <= whole->n && memcmp(whole->axis, head->axis, head->n) == 0;
}

/* The axes that a dimension's change of placement is about. */
static unsigned moved_axes(const axis_list *from, const axis_list *to)
{
    unsigned a = cut_axes(from), b = cut_axes(to);
    /* Where one cut refines the other, only the finer axes take part. */
    return starts_with(from, to) || starts_with(to, from) ? a ^ b : a | b;
}

/* The axes that cut what processors want of a dimension. */
static const axis_list *wanted_cut(const exchange_args *how, int d)
{
    return d == how->mapped ? &how->map.cut : &how->to.dim[d];
}

static unsigned wanted_axes(const exchange_args *how)
{
    unsigned axes = 0;
    for (int d = 0; d < how->shape.ndims; d++) axes |= cut_axes(wanted_cut(how, d));
    return axes;
}

static const char *exchange_kind(const exchange_args *how)
{
    unsigned from = placement_axes(&how->from, how->shape.ndims), to = wanted_axes(how);
    bool     removes = true;
    for (int d = 0; d < how->shape.ndims; d++)
        removes = removes && !(cut_axes(&how->to.dim[d]) & ~cut_axes(&how->from.dim[d]));
    if (how->mapped >= 0) return "exchange"; /* with neighbours, as much as each needs */
    if (removes && from != to) return "all_gather";
    return from == to ? "all_to_all" : "exchange";
}

const char *traffic_kind(const instr *i)
{
    if (i->kind == INSTR_REDUCE || i->kind == INSTR_REDUCE_SCATTER) return instr_name(i->kind);
    return i->kind == INSTR_EXCHANGE ? exchange_kind(i->exchange) : NULL;
}

bool traffic_moves(const exchange_args *how, int d)
{
    return d == how->mapped || !cut_equal(&how->from.dim[d], &how->to.dim[d]);
}

unsigned traffic_axes(const instr *i)
{
    unsigned axes = 0;
    if (i->kind == INSTR_REDUCE) return i->reduce.axes;
    if (i->kind == INSTR_REDUCE_SCATTER) return scatter_axes(&i->reduce_scatter);
    for (int d = 0; i->kind == INSTR_EXCHANGE && d < i->exchange->shape.ndims; d++) {
        const exchange_args *how = i->exchange;
        if (d == how->mapped)
            axes |= cut_axes(&how->from.dim[d]) | cut_axes(&how->map.cut);
        else
            axes |= moved_axes(&how->from.dim[d], &how->to.dim[d]);
    }
    return axes;
}

unsigned traffic_spread(const instr *i)
{
    if (i->kind == INSTR_REDUCE_SCATTER) return cut_axes(&i->reduce_scatter.to);
    return i->kind == INSTR_EXCHANGE ? wanted_axes(i->exchange) : 0;
}

static axis_list listed(const mesh *m, unsigned axes)
{
    axis_list all = {0};
    for (int a = 0; a < m->naxes; a++)
        if (axes >> a & 1) all.axis[all.n++] = (uint8_t)a;
    return all;
}

int traffic_group(const mesh *m, unsigned axes)
{
    axis_list all = listed(m, axes);
    return cut_parts(m, &all);
}

/* ---- elements ---- */

static int64_t overlap(span a, span b)
{
    int64_t begin = a.begin > b.begin ? a.begin : b.begin;
    int64_t end_a = a.begin + a.size, end_b = b.begin + b.size, end = end_a < end_b ? end_a : end_b;
    return end > begin ? end - begin : 0;
}

static int64_t reduce_moves(const mesh *m, const instr *i, const mesh_point *here)
{
    axis_list all = listed(m, i->reduce.axes);
    int       n = cut_parts(m, &all);
    return i->size[0] + (n - 2) * part_range(i->size[0], n, cut_part(m, &all, here)).size;
}

/* One reads one's own part from every other member; the others read the rest of one's input. */
static int64_t scatter_receives(const mesh *m, const instr *i, const mesh_point *here)
{
    int n = traffic_group(m, scatter_axes(&i->reduce_scatter));
    return (n - 1) * scatter_kept(m, &i->reduce_scatter, here).size;
}

static int64_t scatter_sends(const mesh *m, const instr *i, const mesh_point *here)
{
    const scatter_args *how = &i->reduce_scatter;
    int64_t             all = cut_range(m, &how->from, here, how->size).size * how->row;
    return all - scatter_kept(m, how, here).size;
}

/* Elements of one's new part that one had before. */
static int64_t kept(const mesh *m, const exchange_args *how, const mesh_point *here)
{
    int64_t n = 1;
    for (int d = 0; d < how->shape.ndims; d++) {
        int64_t size = how->shape.dims[d].size;
        n *= overlap(cut_range(m, &how->from.dim[d], here, size), exchange_wanted(m, how, d, here));
    }
    return n;
}

/* Elements of the part that `here` has, each as often as some processor wants it.  Those that read
 * here differ from it along axes of `from` only; as no axis cuts two dimensions, the sum over
 * them is a product over the dimensions. */
static int64_t wanted(const mesh *m, const exchange_args *how, const mesh_point *here)
{
    unsigned from = placement_axes(&how->from, how->shape.ndims);
    int64_t  n = traffic_group(m, from & ~wanted_axes(how));
    for (int d = 0; d < how->shape.ndims; d++) {
        int64_t    size = how->shape.dims[d].size, sum = 0;
        span       has = cut_range(m, &how->from.dim[d], here, size);
        axis_list  varying = listed(m, cut_axes(wanted_cut(how, d)) & from);
        mesh_point reader = *here;
        for (int k = cut_parts(m, &varying) - 1; k >= 0; k--) {
            cut_set_part(m, &varying, k, &reader);
            sum += overlap(has, exchange_wanted(m, how, d, &reader));
        }
        n *= sum;
    }
    return n;
}

int64_t traffic_received(const mesh *m, const instr *i, const mesh_point *here)
{
    if (i->kind == INSTR_REDUCE) return reduce_moves(m, i, here);
    if (i->kind == INSTR_REDUCE_SCATTER) return scatter_receives(m, i, here);
    if (i->kind != INSTR_EXCHANGE) return 0;
    int64_t n = 1;
    for (int d = 0; d < i->exchange->shape.ndims; d++)
        n *= exchange_wanted(m, i->exchange, d, here).size;
    return n - kept(m, i->exchange, here);
}

int64_t traffic_sent(const mesh *m, const instr *i, const mesh_point *here)
{
    if (i->kind == INSTR_REDUCE) return reduce_moves(m, i, here);
    if (i->kind == INSTR_REDUCE_SCATTER) return scatter_sends(m, i, here);
    if (i->kind != INSTR_EXCHANGE) return 0;
    return wanted(m, i->exchange, here) - kept(m, i->exchange, here);
}
