/* Traffic: what a collective moves between processors. */
#include "plan/traffic.h"

#include "program/exchange.h"

/* ---- kinds and axes ---- */

/* The axes that a dimension's change of placement is about. */
static unsigned moved_axes(const axis_list *from, const axis_list *to)
{
    unsigned a = cut_axes(from), b = cut_axes(to);
    /* Where one cut refines the other, only the finer axes take part. */
    return cut_refines(from, to) || cut_refines(to, from) ? a ^ b : a | b;
}

static unsigned wanted_axes(const exchange_args *how)
{
    unsigned axes = 0;
    for (int d = 0; d < how->shape.ndims; d++) axes |= cut_axes(exchange_cut(how, d));
    return axes;
}

static const char *exchange_kind(const exchange_args *how)
{
    unsigned from = placement_axes(&how->from, how->shape.ndims), to = wanted_axes(how);
    bool     removes = true;
    for (int d = 0; d < how->shape.ndims; d++)
        removes = removes && !(cut_axes(&how->to.dim[d]) & ~cut_axes(&how->from.dim[d]));
    if (how->mapped) return "exchange"; /* with neighbours, as much as each needs */
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
    return how->mapped >> d & 1 || !cut_equal(&how->from.dim[d], &how->to.dim[d]);
}

unsigned traffic_axes(const instr *i)
{
    unsigned axes = 0;
    if (i->kind == INSTR_REDUCE) return i->reduce.axes;
    if (i->kind == INSTR_REDUCE_SCATTER) return scatter_axes(&i->reduce_scatter);
    for (int d = 0; i->kind == INSTR_EXCHANGE && d < i->exchange->shape.ndims; d++) {
        const exchange_args *how = i->exchange;
        if (how->mapped >> d & 1)
            axes |= cut_axes(&how->from.dim[d]) | cut_axes(&how->map[d].cut);
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

/* Elements of the part that `here` has, each as often as some processor wants it.  Those that read
 * here differ from it along axes of `from` only; as no axis cuts two dimensions, the sum over
 * them is a product over the dimensions. */
static int64_t wanted(const mesh *m, const exchange_args *how, const mesh_point *here)
{
    unsigned from = placement_axes(&how->from, how->shape.ndims);
    int64_t  n = traffic_group(m, from & ~wanted_axes(how));
    for (int d = 0; d < how->shape.ndims; d++) {
        if (!traffic_moves(how, d)) { /* everybody wants what it has */
            n *= exchange_has(m, how, d, here).size;
            continue;
        }
        int64_t    sum = 0;
        span       has = exchange_has(m, how, d, here);
        axis_list  varying = listed(m, cut_axes(exchange_cut(how, d)) & from);
        mesh_point reader = *here;
        for (int k = cut_parts(m, &varying) - 1; k >= 0; k--) {
            cut_set_part(m, &varying, k, &reader);
            sum += span_overlap(has, exchange_wanted(m, how, d, &reader));
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
    return exchange_received(m, i->exchange, here);
}

int64_t traffic_sent(const mesh *m, const instr *i, const mesh_point *here)
{
    if (i->kind == INSTR_REDUCE) return reduce_moves(m, i, here);
    if (i->kind == INSTR_REDUCE_SCATTER) return scatter_sends(m, i, here);
    if (i->kind != INSTR_EXCHANGE) return 0;
    return wanted(m, i->exchange, here) - exchange_kept(m, i->exchange, here);
}
