/* Working space of the wire between processes, computed in advance. */
#include "machine/wire_room.h"

#include <string.h>

#include "base/whole.h"
#include "machine/legs.h"
#include "program/exchange.h"
#include "program/stages.h"

/* the number of messages for `bytes` bytes */
static int mpi_pieces(int64_t bytes)
{
    return (int)ceil_div(bytes, MOST_BYTES);
}

int64_t mpi_aligned(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

typedef struct place {
    const site *site;
    const mesh *mesh;
    int         me;
    span        process;
} place;

/* The number of a group's members in other processes. */
static int64_t count_others(const place *p, const group *g)
{
    int64_t n = g->n;
    for (int64_t q = p->process.begin; q < p->process.begin + p->process.size; q++) {
        mesh_point there = mesh_place(p->mesh, (int)q);
        n -= group_member(p->mesh, g, cut_part(p->mesh, &g->axes, &there)) == q;
    }
    return n;
}

static bool is_here(const place *p, int processor)
{
    return processor >= p->process.begin && processor < p->process.begin + p->process.size;
}

/* ---- groups ---- */

/* The axes of the group whose own buffers an instruction uses; 0: none. */
static unsigned group_axes(const collective_library *l, const mesh *m, int me, const instr *i)
{
    if (i->kind == INSTR_REDUCE) return group_long_axes(m, i->reduce.axes);
    if (i->kind == INSTR_REDUCE_SCATTER)
        return group_long_axes(m, scatter_axes(&i->reduce_scatter));
    bool gather = i->kind == INSTR_EXCHANGE && l->gathers(m, me, i);
    return gather ? group_long_axes(m, exchange_axes(i->exchange)) : 0;
}

/* Groups for which a library keeps buffers in a program. */
static int wire_groups(const collective_library *l, const mesh *m, int me, const program *p)
{
    enum { MOST_GROUPS = 64 };
    unsigned found[MOST_GROUPS] = {group_long_axes(m, (1u << m->naxes) - 1)};
    int      n = 1; /* all ranks */
    for (int k = 0; k < p->ninstrs; k++) {
        unsigned axes = group_axes(l, m, me, &p->instrs[k]);
        int      at = 0;
        while (at < n && found[at] != axes) at++;
        if (axes && at == n && n < MOST_GROUPS) found[n++] = axes;
    }
    return n;
}

static void reduce_needs(const place *p, const instr *i, needs *n)
{
    group   g = group_of(p->mesh, p->me, i->reduce.axes);
    int64_t bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    int64_t shard = part_range(i->size[0], g.n, g.mine).size * bytes;
    if (site_swaps(p->site, p->mesh, g.n, i->size[0] * bytes)) shard = i->size[0] * bytes;
    n->parts = g.n;
    if (site_meets(p->site, p->mesh, p->me, i->reduce.axes)) return;
    if (p->site->library && p->site->library->reduces(i)) return;
    int64_t others = count_others(p, &g), largest = ceil_div(i->size[0], g.n) * bytes;
    n->work = others * mpi_aligned(shard);
    n->messages = (int)others * 2 * (mpi_pieces(shard) + mpi_pieces(largest));
}

static void scatter_needs(const place *p, const instr *i, needs *n)
{
    const scatter_args *how = &i->reduce_scatter;
    group               g = group_of(p->mesh, p->me, scatter_axes(how));
    int64_t             bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    int64_t             kept = scatter_kept(p->mesh, how, &g.here).size * bytes;
    n->parts = g.n;
    if (site_meets(p->site, p->mesh, p->me, scatter_axes(how))) return;
    if (p->site->library && p->site->library->reduce_scatters(p->mesh, p->me, i)) return;
    int64_t others = count_others(p, &g), parts = cut_parts(p->mesh, &how->to);
    int64_t largest = ceil_div(how->size, parts) * how->row * bytes;
    n->work = others * mpi_aligned(kept);
    n->messages = (int)others * (mpi_pieces(kept) + mpi_pieces(largest));
}

/* What is sent: in a plain gather the part itself, without packing; otherwise the regions that the
 * exchange visits. */
static void leaving_needs(const place *p, const instr *i, int64_t bytes, needs *n)
{
    unsigned gathered = exchange_gathers(i->exchange);
    if (gathered) {
        group   g = group_of(p->mesh, p->me, gathered);
        int64_t size = exchange_part(p->mesh, i->exchange, &g.here) * bytes;
        n->messages += (int)count_others(p, &g) * mpi_pieces(size);
        return;
    }
    out_visit out = out_start(p->mesh, p->me, p->process, i->exchange);
    bool      packed = false;
    region    last;
    for (leg l; next_out(p->mesh, i->exchange, &out, &l);) {
        int64_t size = region_elements(&l.region) * bytes;
        n->messages += mpi_pieces(size);
        if (is_run(&l.region, l.region.from_size) || (packed && same_region(&l.region, &last)))
            continue;
        n->work += mpi_aligned(size);
        packed = true;
        last = l.region;
    }
}

static void exchange_needs(const place *p, const instr *i, needs *n)
{
    int64_t      bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    mesh_point   here = mesh_place(p->mesh, p->me);
    region_visit in = region_start(p->mesh, i->exchange, &here);
    n->parts = group_of(p->mesh, p->me, exchange_axes(i->exchange)).n;
    if (site_exchange_meets(p->site, p->mesh, p->me, i)) return;
    for (leg l; next_in(p->mesh, &in, &l);) {
        int64_t size = region_elements(&l.region) * bytes;
        if (is_here(p, l.peer)) continue;
        if (!is_run(&l.region, l.region.to_size)) n->work += mpi_aligned(size);
        n->messages += mpi_pieces(size);
    }
    leaving_needs(p, i, bytes, n);
}

/* The latest needs of exchanges: those of equal layers are the same, and counting the messages of
 * hundreds of members takes longer than planning them. */
enum { KEPT_NEEDS = 16 };
typedef struct kept_needs {
    const instr *of[KEPT_NEEDS];
    needs        n[KEPT_NEEDS];
    int          count;
} kept_needs;

static bool same_map(const span_map *a, const span_map *b)
{
    return memcmp(&a->cut, &b->cut, sizeof a->cut) == 0 && a->size == b->size &&
           a->mult == b->mult && a->low == b->low && a->high == b->high && a->div == b->div;
}

static bool same_args(const exchange_args *a, const exchange_args *b)
{
    if (a == b) return true;
    bool same = mtf_shape_equal(a->shape, b->shape) && a->mapped == b->mapped &&
                memcmp(&a->from, &b->from, sizeof a->from) == 0 &&
                memcmp(&a->to, &b->to, sizeof a->to) == 0;
    for (int d = 0; same && d < a->shape.ndims; d++)
        if (a->mapped >> d & 1) same = same_map(&a->map[d], &b->map[d]);
    return same;
}

static bool same_exchange(const instr *a, const instr *b)
{
    return a->out[0].type == b->out[0].type && same_args(a->exchange, b->exchange);
}

static needs known_exchange_needs(kept_needs *kept, const place *p, const instr *i)
{
    for (int k = 0; k < KEPT_NEEDS && k < kept->count; k++)
        if (same_exchange(kept->of[k], i)) return kept->n[k];
    needs n = {0};
    int   at = kept->count++ % KEPT_NEEDS;
    exchange_needs(p, i, &n);
    kept->of[at] = i;
    return kept->n[at] = n;
}

/* ---- two stages ---- */

/* The host's sums of the shares of this place, and the other hosts' sums of this member's own. */
static void staged_reduce_needs(const place *p, const instr *i, const stages *t, needs *n)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    int     here = t->inside.mine, ways = i->kind == INSTR_REDUCE ? 2 : 1;
    int64_t own = stages_share(t, p->mesh, i, t->across.mine, here).size * bytes;
    n->work = mpi_aligned(stages_shares(t, p->mesh, i, here) * bytes) +
              (t->across.n - 1) * mpi_aligned(own);
    for (int h = 0; h < t->across.n; h++) {
        int64_t share = stages_share(t, p->mesh, i, h, here).size * bytes;
        if (h != t->across.mine) n->messages += ways * (mpi_pieces(own) + mpi_pieces(share));
    }
}

/* Parts of this place come from their hosts and are passed on inside this one, where the parts of the
 * other places come from. */
static void staged_gather_needs(const place *p, const instr *i, const stages *t, needs *n)
{
    bool       meet = stages_meet(p->mesh, p->me, i);
    mesh_point here = mesh_place(p->mesh, p->me);
    for (int h = 0; h < t->across.n; h++)
        for (int k = 0; k < t->inside.n; k++) {
            mesh_point there = mesh_place(p->mesh, stages_member(t, h, k));
            region     r;
            if (!leg_region(p->mesh, i->exchange, &there, &here, &r)) continue;
            int64_t size = region_elements(&r) * (int64_t)mtf_dtype_bytes(i->out[0].type);
            bool    beside = k == t->inside.mine, own = beside && h == t->across.mine;
            if (!own && !is_run(&r, r.to_size)) n->work += mpi_aligned(size);
            if (own) n->messages += (t->across.n - 1) * mpi_pieces(size);
            if (beside && !meet) n->messages += (t->inside.n - 1) * mpi_pieces(size);
            if (!own && (beside || !meet)) n->messages += mpi_pieces(size);
        }
}

static void staged_needs(const place *p, const instr *i, const stages *t, needs *n)
{
    n->parts = t->inside.n * t->across.n;
    if (i->kind == INSTR_EXCHANGE)
        staged_gather_needs(p, i, t, n);
    else
        staged_reduce_needs(p, i, t, n);
}

/* ---- all collectives ---- */

needs wire_needs(const site *s, const mesh *m, int me, const program *q)
{
    place      p = {.site = s, .mesh = m, .me = me, .process = site_process(s, m, me)};
    needs      most = {.parts = 1, .messages = 1};
    kept_needs kept = {0};
    for (int k = 0; k < q->ninstrs; k++) {
        const instr *i = &q->instrs[k];
        needs        n = {0};
        stages       t;
        if (instr_is_collective(i) && stages_find(s, m, me, i, &t))
            staged_needs(&p, i, &t, &n);
        else if (i->kind == INSTR_REDUCE)
            reduce_needs(&p, i, &n);
        else if (i->kind == INSTR_REDUCE_SCATTER)
            scatter_needs(&p, i, &n);
        else if (i->kind == INSTR_EXCHANGE)
            n = known_exchange_needs(&kept, &p, i);
        if (n.parts > most.parts) most.parts = n.parts;
        if (n.work > most.work) most.work = n.work;
        if (n.messages > most.messages) most.messages = n.messages;
    }
    return most;
}

/* Without the lists of a few words for each member and message. */
int64_t wire_room_bytes(const site *s, const mesh *m, int me, const program *p)
{
    if (mesh_size(m) == 1) return 0;
    if (!s || s->ranks <= 1) return WHOLE_BYTES;
    const collective_library *l = s->library;
    int64_t                   buffers = l ? wire_groups(l, m, me, p) * l->group_bytes : 0;
    return wire_needs(s, m, me, p).work + buffers;
}
