/* Traffic: what a collective moves between processors. */
#include "price/traffic.h"

#include "base/saturate.h"
#include "program/exchange.h"
#include "program/group.h"
#include "program/stages.h"

/* ---- kinds and axes ---- */

/* The axes along which the placement of a dimension changes. */
static unsigned moved_axes(const axis_list *from, const axis_list *to)
{
    unsigned a = cut_axes(from), b = cut_axes(to);
    /* If one cut refines the other, only the additional axes take part. */
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

/* The other members of a group within a set of processors: their number, and the sum of `of` over
 * them. */
typedef struct neighbours {
    int     n;
    int64_t sum;
} neighbours;

typedef int64_t member_size(const mesh *m, const instr *i, const group *g, int k);

static neighbours among(const site *s, const mesh *m, const instr *i, const group *g, span whom,
                        member_size *of)
{
    neighbours c = {0};
    int        me = mesh_number(m, &g->here);
    mesh_point there;
    for (int64_t p = whom.begin; p < whom.begin + whom.size; p++) {
        there = mesh_place(m, (int)p);
        int k = cut_part(m, &g->axes, &there);
        if (p == me || group_member(m, g, k) != p || !site_same_host(s, m, me, (int)p)) continue;
        c.n++;
        c.sum += of(m, i, g, k);
    }
    return c;
}

/* Those that are threads of the same process. */
static neighbours in_process(const site *s, const mesh *m, const instr *i, const group *g,
                             member_size *of)
{
    return among(s, m, i, g, site_process(s, m, mesh_number(m, &g->here)), of);
}

static neighbours on_host(const site *s, const mesh *m, const instr *i, const group *g,
                          member_size *of)
{
    return among(s, m, i, g, site_host(s, m, mesh_number(m, &g->here)), of);
}

static int64_t shard_of(const mesh *m, const instr *i, const group *g, int k)
{
    (void)m;
    return part_range(i->size[0], g->n, k).size;
}

static int64_t kept_by(const mesh *m, const instr *i, const group *g, int k)
{
    mesh_point there = g->here;
    cut_set_part(m, &g->axes, k, &there);
    return scatter_kept(m, &i->reduce_scatter, &there).size;
}

bool traffic_is_sharded(const site *s, const mesh *m, const instr *i, const mesh_point *here)
{
    int64_t bytes = saturate_times(i->size[0], (int64_t)mtf_dtype_bytes(i->out[0].type));
    int     n = traffic_group(m, i->reduce.axes);
    bool    meet = site_meets(s, m, mesh_number(m, here), i->reduce.axes);
    return !(meet ? site_takes_whole(n, bytes) : site_swaps(s, m, n, bytes));
}

static traffic reduce_traffic(const site *s, const mesh *m, const instr *i, const group *g)
{
    int64_t size = i->size[0], shard = shard_of(m, i, g, g->mine), others = g->n - 1;
    bool    meet = site_meets(s, m, mesh_number(m, &g->here), i->reduce.axes);
    bool    whole = !traffic_is_sharded(s, m, i, &g->here);
    int64_t moved = saturate_times(others, size);
    if (!whole) moved = saturate_plus(size - shard, saturate_times(others, shard));
    traffic t = {.flops = saturate_times(others, whole ? size : shard)};
    if (meet) {
        t.read = t.lent = moved;
    } else {
        neighbours c = in_process(s, m, i, g, shard_of);
        t.read = t.lent = c.n * shard + c.sum;
        t.received = t.sent = moved - t.read;
        if (!site_has_hosts(s)) return t;
        c = on_host(s, m, i, g, shard_of);
        t.received_outside = t.sent_outside = moved - (whole ? c.n * size : c.n * shard + c.sum);
    }
    return t;
}

/* A member reads its own part from every other member; the others read the rest of its input. */
static traffic scatter_traffic(const site *s, const mesh *m, const instr *i, const group *g)
{
    const scatter_args *how = &i->reduce_scatter;
    int64_t             kept = scatter_kept(m, how, &g->here).size;
    int64_t all = saturate_times(cut_range(m, &how->from, &g->here, how->size).size, how->row);
    int64_t in = saturate_times(g->n - 1, kept), out = all - kept;
    traffic t = {.flops = in, .read = in, .lent = out};
    if (site_meets(s, m, mesh_number(m, &g->here), scatter_axes(how))) return t;
    neighbours c = in_process(s, m, i, g, kept_by);
    t.read = c.n * kept;
    t.lent = c.sum;
    t.received = in - t.read;
    t.sent = out - t.lent;
    if (!site_has_hosts(s)) return t;
    c = on_host(s, m, i, g, kept_by);
    t.received_outside = in - c.n * kept;
    t.sent_outside = out - c.sum;
    return t;
}

/* The same for dimension d alone, over the processors that differ along the axes of `from` that cut
 * it. */
static int64_t wanted_along(const mesh *m, const exchange_args *how, int d, const mesh_point *here,
                            unsigned from)
{
    const axis_list *cut = exchange_cut(how, d);
    span             has = exchange_has(m, how, d, here);
    axis_list        varying = listed(m, cut_axes(cut) & from);
    mesh_point       reader = *here;
    int64_t          sum = 0;
    if (!(how->mapped >> d & 1)) {
        if (varying.n == cut->n) return has.size; /* together they need all of it, each a part */
        if (cut_refines(cut, &how->from.dim[d]) &&
            cut_axes(&varying) == cut_axes(&how->from.dim[d]))
            return exchange_wanted(m, how, d, here).size; /* only by this one: parts nest */
    } else if (varying.n == cut->n) {
        return exchange_lent(m, how, d, has);
    }
    for (int k = cut_parts(m, &varying) - 1; k >= 0; k--) {
        cut_set_part(m, &varying, k, &reader);
        sum += span_overlap(has, exchange_wanted(m, how, d, &reader));
    }
    return sum;
}

/* Elements of the part that `here` has, each counted once for every processor that needs it.
 * Readers differ from `here` along axes of `from` only; as no axis cuts two dimensions, the sum
 * over them is a product over the dimensions. */
static int64_t wanted(const mesh *m, const exchange_args *how, const mesh_point *here)
{
    unsigned from = placement_axes(&how->from, how->shape.ndims);
    int64_t  n = traffic_group(m, from & ~wanted_axes(how));
    for (int d = 0; d < how->shape.ndims; d++) {
        if (!traffic_moves(how, d)) { /* every processor needs what it has */
            n = saturate_times(n, exchange_has(m, how, d, here).size);
            continue;
        }
        n = saturate_times(n, wanted_along(m, how, d, here, from));
    }
    return n;
}

/* What `reader` needs of `source`; they differ along axes of `from` only. */
static int64_t taken(const mesh *m, const exchange_args *how, const mesh_point *source,
                     const mesh_point *reader)
{
    int64_t n = 1;
    for (int d = 0; d < how->shape.ndims; d++)
        n *= span_overlap(exchange_has(m, how, d, source), exchange_wanted(m, how, d, reader));
    return n;
}

static int64_t taken_from(const mesh *m, const instr *i, const group *g, int k)
{
    mesh_point there = g->here;
    cut_set_part(m, &g->axes, k, &there);
    return taken(m, i->exchange, &there, &g->here);
}

static int64_t taken_by(const mesh *m, const instr *i, const group *g, int k)
{
    mesh_point there = g->here;
    cut_set_part(m, &g->axes, k, &there);
    return taken(m, i->exchange, &g->here, &there);
}

static traffic exchange_traffic(const site *s, const mesh *m, const instr *i, const group *g)
{
    const exchange_args *how = i->exchange;
    int64_t              kept = exchange_kept(m, how, &g->here);
    int64_t              in = exchange_received(m, how, &g->here);
    int64_t              out = wanted(m, how, &g->here);
    if (out < INT64_MAX) out -= kept;
    traffic t = {.read = in, .lent = out};
    if (site_exchange_meets(s, m, mesh_number(m, &g->here), i)) return t;
    t.read = in_process(s, m, i, g, taken_from).sum;
    t.lent = in_process(s, m, i, g, taken_by).sum;
    t.received = in - t.read;
    t.sent = out - t.lent;
    if (!site_has_hosts(s)) return t;
    t.received_outside = in - on_host(s, m, i, g, taken_from).sum;
    t.sent_outside = out - on_host(s, m, i, g, taken_by).sum;
    return t;
}

/* ---- elements in two stages ---- */

/* What a member holds: its own share, the shares of its place, and those of all places. */
typedef struct holding {
    int64_t own, place, all;
} holding;

/* Sums go down from operands to shares. */
static void add_down(const stages *g, const holding *x, traffic *t)
{
    int64_t inside = saturate_times(g->inside.n - 1, x->place),
            across = saturate_times(g->across.n - 1, x->own);
    t->read = saturate_plus(t->read, inside);
    t->lent = saturate_plus(t->lent, x->all - x->place);
    t->received_outside = saturate_plus(t->received_outside, across);
    t->sent_outside += x->place - x->own;
    t->flops = saturate_plus(t->flops, saturate_plus(inside, across));
}

/* Shares go up to all members. */
static void add_up(const stages *g, const holding *x, traffic *t)
{
    t->received_outside += x->place - x->own;
    t->sent_outside = saturate_plus(t->sent_outside, saturate_times(g->across.n - 1, x->own));
    t->read = saturate_plus(t->read, x->all - x->place);
    t->lent = saturate_plus(t->lent, saturate_times(g->inside.n - 1, x->place));
}

static traffic staged_traffic(const mesh *m, const instr *i, const mesh_point *here,
                              const stages *g)
{
    int     place = g->inside.mine;
    traffic t = {0};
    holding x = {.own = stages_share(g, m, i, g->across.mine, place).size,
                 .place = stages_shares(g, m, i, place),
                 .all = stages_whole(m, i, here)};
    if (i->kind != INSTR_EXCHANGE) add_down(g, &x, &t);
    if (i->kind != INSTR_REDUCE_SCATTER) add_up(g, &x, &t);
    t.received = t.received_outside;
    t.sent = t.sent_outside;
    if (stages_meet(m, mesh_number(m, here), i)) return t;
    t.received = saturate_plus(t.received, t.read);
    t.sent = saturate_plus(t.sent, t.lent);
    t.read = t.lent = 0;
    return t;
}

traffic traffic_of(const site *s, const mesh *m, const instr *i, const mesh_point *here)
{
    unsigned axes = i->kind == INSTR_EXCHANGE
                        ? placement_axes(&i->exchange->from, i->exchange->shape.ndims)
                        : traffic_axes(i);
    int      me = mesh_number(m, here);
    group    g = group_of(m, me, axes);
    stages   two;
    if (instr_is_collective(i) && stages_find(s, m, me, i, &two))
        return staged_traffic(m, i, here, &two);
    if (i->kind == INSTR_REDUCE) return reduce_traffic(s, m, i, &g);
    if (i->kind == INSTR_REDUCE_SCATTER) return scatter_traffic(s, m, i, &g);
    if (i->kind == INSTR_EXCHANGE) return exchange_traffic(s, m, i, &g);
    return (traffic){0};
}

/* ---- messages ---- */

/* The number of parts that overlap with a span.  If there are more parts than elements, some are
 * empty. */
static int64_t parts_within(int64_t size, int parts, span s)
{
    if (s.size == 0) return 0;
    int64_t n =
        part_holding(size, parts, s.begin + s.size - 1) - part_holding(size, parts, s.begin);
    return n + 1 < s.size ? n + 1 : s.size;
}

/* The number of processors that have something that `here` needs: a product over the dimensions. */
static int64_t sources_of(const mesh *m, const exchange_args *how, const mesh_point *here)
{
    int64_t n = 1;
    for (int d = 0; d < how->shape.ndims; d++)
        n *= parts_within(how->shape.dims[d].size, cut_parts(m, &how->from.dim[d]),
                          exchange_wanted(m, how, d, here));
    return n;
}

/* The number of processors that need something of what `here` has of dimension d.  They differ from
 * it along axes in `from` only; if these determine the number, no processor is visited. */
static int64_t readers_along(const mesh *m, const exchange_args *how, int d, unsigned from,
                             const mesh_point *here)
{
    int64_t          n = 0;
    span             has = exchange_has(m, how, d, here);
    const axis_list *cut = exchange_cut(how, d);
    axis_list        varying = listed(m, cut_axes(cut) & from);
    mesh_point       reader = *here;
    if (!traffic_moves(how, d)) return has.size > 0;
    if (varying.n == cut->n)
        return how->mapped >> d & 1 ? exchange_readers(m, how, d, has)
                                    : parts_within(how->shape.dims[d].size, cut_parts(m, cut), has);
    for (int k = cut_parts(m, &varying) - 1; k >= 0; k--) {
        cut_set_part(m, &varying, k, &reader);
        n += span_overlap(has, exchange_wanted(m, how, d, &reader)) > 0;
    }
    return n;
}

/* The number of processors that need something that `here` has: see `wanted`. */
static int64_t readers_of(const mesh *m, const exchange_args *how, const mesh_point *here)
{
    unsigned from = placement_axes(&how->from, how->shape.ndims);
    int64_t  n = traffic_group(m, from & ~wanted_axes(how));
    for (int d = 0; d < how->shape.ndims && n; d++) n *= readers_along(m, how, d, from, here);
    return n;
}

int64_t traffic_messages(const site *s, const mesh *m, const instr *i, const mesh_point *here)
{
    group   g = group_of(m, mesh_number(m, here), traffic_axes(i));
    int64_t others = g.n - 1;
    if (i->kind == INSTR_REDUCE) return traffic_is_sharded(s, m, i, here) ? 2 * others : others;
    if (i->kind == INSTR_REDUCE_SCATTER) return others;
    if (i->kind != INSTR_EXCHANGE) return 0;
    int64_t in = sources_of(m, i->exchange, here), out = readers_of(m, i->exchange, here);
    return (in > out ? in : out) - (exchange_kept(m, i->exchange, here) > 0);
}

bool traffic_is_flat(const site *s, const mesh *m, const instr *i, const mesh_point *here)
{
    stages t;
    return site_has_hosts(s) && !stages_find(s, m, mesh_number(m, here), i, &t);
}
