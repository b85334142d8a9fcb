/* Stages: collectives inside hosts, and between them. */
#include "program/stages.h"

#include "base/dtype.h"
#include "base/saturate.h"
#include "program/exchange.h"

/* ---- axes and hosts ---- */

static int64_t stride_of(const mesh *m, int axis)
{
    int64_t stride = 1;
    for (int a = axis + 1; a < m->naxes; a++) stride *= m->size[a];
    return stride;
}

int stages_near(int node, const mesh *m, int axis)
{
    int64_t stride = stride_of(m, axis), size = m->size[axis];
    if (!node) return (int)size;
    if (stride >= node || node % stride) return 1;
    int64_t room = node / stride;
    if (size <= room) return room % size ? 1 : (int)size;
    return size % room ? 1 : (int)room;
}

/* Along such an axis some neighbours share a host, and others do not. */
static bool is_mixed(int node, const mesh *m, int axis)
{
    return stride_of(m, axis) < node && m->size[axis] > 1 && stages_near(node, m, axis) == 1;
}

/* Processors of each host, if all have equally many consecutive ones, each in a process of its own; 0: no
 * such hosts, or one. */
static int node_of(const site *s, const mesh *m)
{
    bool apart = s && !s->library && !s->host && s->hosts > 1 && s->ranks == mesh_size(m);
    return apart && s->ranks % s->hosts == 0 && s->ranks > s->hosts ? s->ranks / s->hosts : 0;
}

static void add_axis(host_mesh *h, const char *name, int size, bool inside)
{
    int a = h->mesh.naxes++;
    h->mesh.name[a] = name;
    h->mesh.size[a] = size;
    if (inside) h->inside |= 1u << a;
}

host_mesh host_mesh_of(const site *s, const mesh *m)
{
    int       node = node_of(s, m);
    host_mesh h = {.cut = -1};
    if (!node) h.mesh = *m;
    for (int a = 0; a < m->naxes && node; a++) {
        int near = stages_near(node, m, a), far = m->size[a] / near;
        if (is_mixed(node, m, a) || (near > 1 && far > 1 && m->naxes == MAX_AXES)) {
            h.mixed |= 1u << a;
            far = m->size[a], near = 1;
        }
        if (near > 1 && far > 1) h.cut = a;
        if (near == 1 || far > 1) add_axis(&h, m->name[a], far, false);
        if (near > 1) add_axis(&h, m->name[a], near, true);
    }
    return h;
}

unsigned host_mesh_axes(const host_mesh *h, unsigned axes)
{
    if (h->cut < 0) return axes;
    unsigned below = axes & ((1u << h->cut) - 1), above = axes >> (h->cut + 1) << (h->cut + 2);
    return below | above | (axes >> h->cut & 1 ? 3u << h->cut : 0);
}

/* ---- groups ---- */

static stages stages_in(const host_mesh *h, int me, unsigned inside, unsigned across)
{
    stages t = {.hosts = *h};
    t.inside = group_of(&h->mesh, me, inside);
    t.across = group_of(&h->mesh, me, across);
    return t;
}

stages stages_one_host(const mesh *m, int me, unsigned axes)
{
    host_mesh h = {.mesh = *m, .cut = -1};
    return stages_in(&h, me, axes, 0);
}

int stages_member(const stages *t, int host, int place)
{
    mesh_point p = t->inside.here;
    cut_set_part(&t->hosts.mesh, &t->inside.axes, place, &p);
    cut_set_part(&t->hosts.mesh, &t->across.axes, host, &p);
    return mesh_number(&t->hosts.mesh, &p);
}

/* ---- what has two stages ---- */

bool stages_suit(const instr *i)
{
    if (i->kind != INSTR_EXCHANGE) return true;
    const exchange_args *how = i->exchange;
    bool                 coarser = !how->mapped;
    for (int d = 0; d < how->shape.ndims && coarser; d++)
        coarser = cut_refines(&how->from.dim[d], &how->to.dim[d]);
    return coarser;
}

static unsigned axes_of(const instr *i)
{
    if (i->kind == INSTR_REDUCE) return i->reduce.axes;
    if (i->kind == INSTR_REDUCE_SCATTER) return scatter_axes(&i->reduce_scatter);
    int ndims = i->exchange->shape.ndims;
    return placement_axes(&i->exchange->from, ndims) & ~placement_axes(&i->exchange->to, ndims);
}

int64_t stages_whole(const mesh *m, const instr *i, const mesh_point *here)
{
    if (i->kind == INSTR_REDUCE) return i->size[0];
    if (i->kind == INSTR_EXCHANGE)
        return exchange_received(m, i->exchange, here) + exchange_kept(m, i->exchange, here);
    const scatter_args *how = &i->reduce_scatter;
    return saturate_times(cut_range(m, &how->from, here, how->size).size, how->row);
}

/* Sums of short floats are rounded once, after all members. */
static bool is_rounded(const instr *i)
{
    mtf_dtype type = i->out[0].type;
    if (i->kind == INSTR_EXCHANGE || dtype_compute(type) == type) return false;
    return (i->kind == INSTR_REDUCE ? i->reduce.kind : i->reduce_scatter.kind) == FOLD_SUM;
}

bool stages_find(const site *s, const mesh *m, int me, const instr *i, stages *t)
{
    if (!node_of(s, m) || !stages_suit(i)) return false;
    host_mesh  h = host_mesh_of(s, m);
    mesh_point here = mesh_place(m, me);
    unsigned   axes = host_mesh_axes(&h, axes_of(i));
    int64_t    bytes =
        saturate_times(stages_whole(m, i, &here), (int64_t)mtf_dtype_bytes(i->out[0].type));
    *t = stages_in(&h, me, axes & h.inside, axes & ~h.inside);
    int n = t->inside.n * t->across.n;
    return t->inside.n > 1 && t->across.n > 1 && !(axes_of(i) & h.mixed) &&
           t->inside.n <= MAILBOX_BYTES / CACHE_LINE && !is_rounded(i) &&
           !site_swaps(s, m, n, bytes);
}

/* ---- shares ---- */

bool stages_meet(const mesh *m, int me, const instr *i)
{
    return i->kind != INSTR_EXCHANGE || find_runs(m, i->exchange, me, 1).dim >= 0;
}

/* Shards are numbered by place first: those of a place make up its share of the operand, since parts
 * nest. */
span stages_share(const stages *t, const mesh *m, const instr *i, int host, int place)
{
    int hosts = t->across.n;
    if (i->kind == INSTR_REDUCE)
        return part_range(i->size[0], t->inside.n * hosts, place * hosts + host);
    int        member = stages_member(t, host, place);
    mesh_point there = mesh_place(m, member);
    if (i->kind == INSTR_REDUCE_SCATTER) return scatter_kept(m, &i->reduce_scatter, &there);
    run_plan runs = find_runs(m, i->exchange, member, 1);
    if (runs.dim >= 0) return run_of(m, i->exchange, &runs, member);
    return (span){0, exchange_part(m, i->exchange, &there)};
}

static bool has_even_parts(const mesh *m, const instr *i)
{
    if (i->kind == INSTR_REDUCE_SCATTER)
        return i->reduce_scatter.size % cut_parts(m, &i->reduce_scatter.to) == 0;
    const exchange_args *how = i->exchange;
    bool                 even = true;
    for (int d = 0; d < how->shape.ndims && even; d++)
        even = how->shape.dims[d].size % cut_parts(m, &how->from.dim[d]) == 0;
    return even;
}

int64_t stages_shares(const stages *t, const mesh *m, const instr *i, int place)
{
    int     hosts = t->across.n;
    int64_t sum = 0;
    if (i->kind == INSTR_REDUCE) return part_range(i->size[0], t->inside.n, place).size;
    if (has_even_parts(m, i)) return saturate_times(stages_share(t, m, i, 0, place).size, hosts);
    for (int h = 0; h < hosts; h++) sum = saturate_plus(sum, stages_share(t, m, i, h, place).size);
    return sum;
}
