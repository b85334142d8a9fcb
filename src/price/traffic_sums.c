/* Traffic of all processors in a collective, without visiting them. */
#include "price/traffic_sums.h"

#include "base/saturate.h"
#include "program/exchange.h"

static void add_bytes(int64_t *sum, int64_t each, int64_t count)
{
    *sum = saturate_plus(*sum, saturate_times(each, count));
}

/* ---- what an exchange does not move ---- */

static unsigned axes_of_dim(const exchange_args *how, int d)
{
    return cut_axes(&how->from.dim[d]) | cut_axes(exchange_cut(how, d));
}

/* If one cut continues the other, the finer parts add up to the dimension. */
static bool parts_nest(const exchange_args *how, int d)
{
    const axis_list *a = &how->from.dim[d], *b = exchange_cut(how, d);
    return !(how->mapped >> d & 1) && (cut_refines(a, b) || cut_refines(b, a));
}

/* How many elements the processor `here` keeps, counted along these dimensions only. */
static int64_t kept_here(const mesh *m, const exchange_args *how, unsigned dims,
                         const mesh_point *here)
{
    int64_t kept = 1;
    for (int d = 0; d < how->shape.ndims && kept; d++)
        if (dims >> d & 1)
            kept *= span_overlap(exchange_has(m, how, d, here), exchange_wanted(m, how, d, here));
    return kept;
}

/* The sum over all positions along some axes of the product over some dimensions of what is
 * kept. */
static int64_t kept_along(const mesh *m, const exchange_args *how, unsigned axes, unsigned dims)
{
    int64_t    sum = 0;
    axis_list  list = {0};
    mesh_point here = {0};
    for (int a = 0; a < m->naxes; a++)
        if (axes >> a & 1) list.axis[list.n++] = (uint8_t)a;
    for (int k = cut_parts(m, &list) - 1; k >= 0; k--) {
        cut_set_part(m, &list, k, &here);
        sum = saturate_plus(sum, kept_here(m, how, dims, &here));
    }
    return sum;
}

/* The same for a dimension d that is needed in fewer elements than parts along these axes: only the parts
 * that have one keep something. */
static int64_t kept_by_elements(const mesh *m, const exchange_args *how, int d)
{
    const axis_list *cut = exchange_cut(how, d);
    int64_t          size = exchange_cut_size(how, d), sum = 0;
    mesh_point       here = {0};
    for (int64_t e = 0; e < size; e++) {
        cut_set_part(m, cut, part_holding(size, cut_parts(m, cut), e), &here);
        sum = saturate_plus(sum, kept_here(m, how, 1u << d, &here));
    }
    return sum;
}

static int64_t kept_of(const mesh *m, const exchange_args *how, int d, unsigned axes, unsigned dims)
{
    const axis_list *cut = exchange_cut(how, d);
    bool             alone = dims == 1u << d;
    if (alone && parts_nest(how, d)) return how->shape.dims[d].size;
    if (alone && axes == cut_axes(cut) && exchange_cut_size(how, d) < cut_parts(m, cut))
        return kept_by_elements(m, how, d);
    return kept_along(m, how, axes, dims);
}

/* Dimensions that share no axis are independent: the sum of products is a product of sums. */
static int64_t kept_by_all(const mesh *m, const exchange_args *how)
{
    int64_t  all = 1;
    unsigned used = 0, seen = 0;
    for (int d = 0; d < how->shape.ndims; d++) {
        if (seen >> d & 1) continue;
        unsigned axes = axes_of_dim(how, d), dims = 1u << d;
        for (unsigned before = 0; before != dims;) {
            before = dims;
            for (int e = d + 1; e < how->shape.ndims; e++)
                if (axes_of_dim(how, e) & axes) dims |= 1u << e, axes |= axes_of_dim(how, e);
        }
        all = saturate_times(all, kept_of(m, how, d, axes, dims));
        seen |= dims;
        used |= axes;
    }
    for (int a = 0; a < m->naxes; a++)
        if (!(used >> a & 1)) all = saturate_times(all, m->size[a]);
    return all;
}

/* ---- sums ---- */

void traffic_sum_add(traffic_sum *sum, const site *s, const mesh *m, const instr *i,
                     const mesh_point *here)
{
    traffic t = traffic_of(s, m, i, here);
    add_bytes(&sum->results, instr_elements(i), 1);
    add_bytes(&sum->received, traffic_in(&t), 1);
    add_bytes(&sum->flops, t.flops, 1);
}

void traffic_sum_add_kind(traffic_sum *sum, const site *s, const mesh *m, const instr *i,
                          const mesh_point *here, int64_t count)
{
    add_bytes(&sum->results, instr_elements(i), count);
    if (i->kind == INSTR_EXCHANGE) {
        int64_t kept = exchange_kept(m, i->exchange, here);
        add_bytes(&sum->received, exchange_received(m, i->exchange, here) + kept, count);
    } else if (i->kind == INSTR_REDUCE && traffic_is_sharded(s, m, i, here)) {
        add_bytes(&sum->shards, i->size[0], count);
    } else { /* two stages of a reduce_scatter move as much as one, but not the same for each member */
        traffic t = traffic_of(i->kind == INSTR_REDUCE ? s : NULL, m, i, here);
        add_bytes(&sum->received, traffic_in(&t), count);
        add_bytes(&sum->flops, t.flops, count);
    }
}

/* `total` is a sum of shares; n of them make a whole, which counts `times`. */
static int64_t by_groups(int64_t total, int64_t n, int64_t times)
{
    return total == INT64_MAX ? total : saturate_times(total / n, times);
}

/* In a group of n each member's shard is sent to n-1 others to be combined, and so is the
 * result. */
void traffic_sum_end(traffic_sum *sum, const mesh *m, const instr *i)
{
    if (i->kind == INSTR_EXCHANGE && sum->received < INT64_MAX) {
        int64_t kept = kept_by_all(m, i->exchange);
        /* Where some kinds stand for all, both sums differ in rounding. */
        sum->received = sum->received > kept ? sum->received - kept : 0;
    }
    if (i->kind != INSTR_REDUCE) return;
    int64_t n = traffic_group(m, i->reduce.axes);
    add_bytes(&sum->received, by_groups(sum->shards, n, 2 * (n - 1)), 1);
    add_bytes(&sum->flops, by_groups(sum->shards, n, n - 1), 1);
}
