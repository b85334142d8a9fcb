/* Estimates: what a step costs on every processor of a mesh. */
#include "plan/estimate.h"

#include <string.h>

#include "base/saturate.h"
#include "plan/counters.h"
#include "plan/duplicates.h"
#include "plan/traffic.h"
#include "program/exchange.h"

/* Up to so many instructions in all, every processor is priced by itself.  Beyond, kinds of
 * processors are, unless some of a kind turn out to differ: what an op does may depend on where
 * a processor stands.  Then all are, up to the second bound. */
enum { FEW_INSTRS = 200 * 1000, MOST_INSTRS = 20 * 1000 * 1000 };

/* A cut dimension of some tensor: what decides a processor's sizes. */
typedef struct cut_dim {
    const axis_list *cut;
    int64_t          size;
} cut_dim;

/* A dimension of which an exchange gives unequal amounts. */
typedef struct fetched {
    const exchange_args *how;
    int                  dim;
} fetched;

/* Processors alike: for each cut dimension the shorter or the longer part, for each axis first,
 * last, or in between (an op may have less to do at an edge), and equal amounts fetched. */
typedef struct kind {
    int      first, last; /* the lowest number of the kind, the highest */
    int      count;
    uint8_t *key;
} kind;

typedef struct census {
    estimate          *e;
    mtf_graph         *graph;
    int                nfetches;
    mtf_tensor *const *fetches;
    arena             *scratch;
    program           *sample; /* of the last processor */
    cut_dim           *dims;
    int                ndims, dims_room;
    fetched           *fetched; /* in the sample; the same on all */
    int                nfetched, fetched_room;
    kind              *kinds;
    int                nkinds, kinds_room;
    int               *next;     /* by processor: the next one of its kind, or -1 */
    bool               each;     /* every processor is a kind of its own */
    double             slowest;  /* seconds of the slowest so far */
    counters           counters; /* of collectives */
} census;

/* ---- kinds of processors ---- */

static bool note_cut_dim(census *c, const axis_list *cut, int64_t size)
{
    for (int k = 0; k < c->ndims; k++)
        if (cut_equal(c->dims[k].cut, cut) && c->dims[k].size == size) return true;
    TRY(arena_push(c->scratch, c->dims, c->ndims, c->dims_room));
    c->dims[c->ndims++] = (cut_dim){cut, size};
    return true;
}

static bool list_cut_dims(census *c)
{
    const layout *l = c->e->opts.layout;
    for (int i = 0; i < c->graph->ntensors; i++) {
        const mtf_shape *shape = &c->graph->all[i]->shape;
        for (int d = 0; d < shape->ndims; d++) {
            const layout_rule *r = layout_find(l, shape->dims[d].name);
            if (r) TRY(note_cut_dim(c, &r->cut, shape->dims[d].size));
        }
    }
    return true;
}

static program *plan_one(census *c, int number, bool count)
{
    const estimate_opts *o = &c->e->opts;
    plan_opts            how = {.guard = o->guard,
                                .layout = o->layout,
                                .here = mesh_place(o->mesh, number),
                                .count = count};
    return plan_program(c->graph, c->nfetches, c->fetches, &how);
}

/* Exchanges may go through cuts that no rule of the layout has, and fetch unequal amounts. */
static bool list_fetched(census *c)
{
    for (int k = 0; k < c->sample->ninstrs; k++) {
        const instr *i = &c->sample->instrs[k];
        for (int d = 0; i->kind == INSTR_EXCHANGE && d < i->exchange->shape.ndims; d++) {
            const exchange_args *how = i->exchange;
            if (how->from.dim[d].n)
                TRY(note_cut_dim(c, &how->from.dim[d], how->shape.dims[d].size));
            if (!(how->mapped >> d & 1)) continue;
            TRY(arena_push(c->scratch, c->fetched, c->nfetched, c->fetched_room));
            c->fetched[c->nfetched++] = (fetched){how, d};
        }
    }
    return true;
}

static int key_length(const census *c)
{
    return c->ndims + c->e->opts.mesh->naxes + (int)sizeof(int) +
           c->nfetched * (int)sizeof(int64_t);
}

static void write_key(const census *c, int number, uint8_t *key)
{
    const mesh *m = c->e->opts.mesh;
    mesh_point  here = mesh_place(m, number);
    for (int d = 0; d < c->ndims; d++) {
        int parts = cut_parts(m, c->dims[d].cut);
        *key++ =
            cut_range(m, c->dims[d].cut, &here, c->dims[d].size).size > c->dims[d].size / parts;
    }
    for (int a = 0; a < m->naxes; a++)
        *key++ = (uint8_t)(here.at[a] == 0 ? 0 : here.at[a] == m->size[a] - 1 ? 2 : 1);
    int own = c->each ? number : 0;
    memcpy(key, &own, sizeof own);
    key += sizeof own;
    for (int k = 0; k < c->nfetched; k++, key += sizeof(int64_t)) {
        int64_t amount = exchange_wanted(m, c->fetched[k].how, c->fetched[k].dim, &here).size;
        memcpy(key, &amount, sizeof amount);
    }
}

static bool take_census(census *c)
{
    int      length = key_length(c), newest = 0;
    uint8_t *key = arena_alloc(c->scratch, (size_t)length);
    c->next = arena_array(c->scratch, int, c->e->processors);
    c->nkinds = 0;
    TRY(key && c->next);
    for (int p = 0; p < c->e->processors; p++) {
        write_key(c, p, key);
        int k = newest; /* neighbours are mostly alike */
        if (c->each)
            k = c->nkinds;
        else if (!c->nkinds || memcmp(c->kinds[k].key, key, (size_t)length) != 0)
            for (k = 0; k < c->nkinds && memcmp(c->kinds[k].key, key, (size_t)length) != 0; k++)
                continue;
        if (k == c->nkinds) {
            TRY(arena_push(c->scratch, c->kinds, c->nkinds, c->kinds_room));
            c->kinds[c->nkinds++] =
                (kind){.first = p, .last = p, .key = arena_copy(c->scratch, key, (size_t)length)};
            TRY(c->kinds[k].key != NULL);
        }
        c->next[c->kinds[k].last] = p;
        c->next[p] = -1;
        c->kinds[k].last = p;
        c->kinds[k].count++;
        newest = k;
    }
    return true;
}

/* ---- prices ---- */

static bool price_one(const estimate_opts *o, const program *q, int number, arena *a, price *p)
{
    *p = (price){.program = q,
                 .mesh = o->mesh,
                 .layout = o->layout,
                 .rates = o->rates,
                 .here = mesh_place(o->mesh, number)};
    return price_program(p, a);
}

/* Do others of the kind cost the same?  The last and one in the middle are asked. */
static bool check_kind(census *c, const kind *x, const price *p, bool *alike)
{
    int asked[2] = {x->last, x->first};
    for (int k = 0; k < x->count / 2; k++) asked[1] = c->next[asked[1]];
    for (int k = 0; k < 2 && *alike && asked[k] != x->first; k++) {
        program *q = plan_one(c, asked[k], false);
        TRY(q != NULL);
        *alike = q->cost.flops == p->program->cost.flops && q->cost.peak_bytes == p->memory.peak &&
                 q->ninstrs == p->program->ninstrs;
        program_free(q);
    }
    return true;
}

static int64_t plus(int64_t a, int64_t b, int64_t times)
{
    return saturate_plus(a, saturate_times(b, times));
}

/* What everybody sends somebody receives: the sum of one is that of the other. */
static bool add_traffic(census *c, const kind *x, const price *p)
{
    const mesh *m = c->e->opts.mesh;
    int         ninstrs = p->collectives ? p->program->ninstrs : 0;
    arena_mark  mark = arena_here(c->scratch);
    int64_t    *received = arena_array(c->scratch, int64_t, ninstrs + 1); /* by instruction */
    TRY(received != NULL);
    for (int n = x->first; n >= 0 && ninstrs; n = c->next[n]) {
        mesh_point here = mesh_place(m, n);
        for (int k = 0; k < ninstrs; k++)
            if (p->lines[k].collective)
                received[k] =
                    saturate_plus(received[k], traffic_received(m, &p->program->instrs[k], &here));
    }
    for (int k = 0; k < ninstrs; k++) {
        if (!p->lines[k].collective) continue;
        int64_t each = (int64_t)mtf_dtype_bytes(p->program->instrs[k].out[0].type);
        c->e->sent_bytes =
            plus(c->e->sent_bytes, saturate_times(received[k], each), p->lines[k].turns);
        if (c->e->opts.count)
            TRY(counters_add_collective(
                &c->counters, p, k,
                counters_collective(&p->program->instrs[k], x->count, received[k])));
    }
    arena_back(c->scratch, mark);
    return true;
}

/* One program at a time: there may be thousands. */
static bool add_kind(census *c, const kind *x, bool *alike)
{
    estimate *e = c->e;
    price     p;
    program  *q = plan_one(c, x->first, false);
    TRY(q != NULL);
    bool ok = price_one(&e->opts, q, x->first, &q->arena, &p) && check_kind(c, x, &p, alike);
    ok = ok && add_traffic(c, x, &p);
    if (ok) {
        e->flops = plus(e->flops, p.flops, x->count);
        if (p.memory.peak > e->memory.peak || x == c->kinds)
            e->memory = p.memory, e->largest = x->first;
        if (p.seconds > c->slowest || x == c->kinds)
            c->slowest = p.seconds, e->processor = x->first;
    }
    program_free(q);
    return ok;
}

static bool add_all(census *c, bool *alike)
{
    c->e->flops = c->e->sent_bytes = 0;
    c->counters = (counters){.arena = &c->e->arena};
    TRY(take_census(c));
    for (int k = 0; k < c->nkinds && (*alike || c->e->approximate); k++)
        TRY(add_kind(c, &c->kinds[k], alike));
    c->e->kinds = c->nkinds;
    return true;
}

static bool add_up(census *c)
{
    bool alike = true;
    c->sample = plan_one(c, c->e->processors - 1, false);
    TRY(c->sample && list_cut_dims(c) && list_fetched(c));
    int64_t instrs = (int64_t)c->sample->ninstrs * c->e->processors;
    c->each = instrs <= FEW_INSTRS;
    TRY(add_all(c, &alike));
    if (alike) return true;
    c->each = instrs <= MOST_INSTRS;
    c->e->approximate = !c->each;
    return add_all(c, &alike);
}

/* The processor shown: its own program and price, and what of it others do as well. */
static bool show_one(census *c)
{
    estimate *e = c->e;
    price    *p = &e->price;
    if (e->opts.processor >= 0) e->processor = e->opts.processor;
    e->program = plan_one(c, e->processor, e->opts.count);
    TRY(e->program && price_one(&e->opts, e->program, e->processor, &e->arena, p));
    TRY(!e->opts.count || counters_keep(e->program, &c->counters));
    TRY(duplicates_find(p, c->graph, c->nfetches, c->fetches, c->scratch));
    for (int k = 0; k < e->program->ninstrs; k++) {
        const price_line *line = &p->lines[k];
        if (!line->duplicate) continue;
        e->duplicate += (double)line->flops * (1 - 1.0 / traffic_group(p->mesh, line->duplicate));
        for (int a = 0; a < p->mesh->naxes; a++)
            if (line->duplicate >> a & 1)
                e->duplicate_along[a] += (double)line->flops * (1 - 1.0 / p->mesh->size[a]);
    }
    return true;
}

estimate *estimate_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                         const estimate_opts *opts)
{
    mtf_session *s = g->session;
    estimate    *e = block_alloc(&s->allocator, &s->fault, sizeof *e, true);
    if (!e) return NULL;
    *e = (estimate){.session = s, .opts = *opts, .processors = mesh_size(opts->mesh)};
    e->arena = arena_make(&s->allocator, &s->fault);
    arena  scratch = arena_make(&s->allocator, &s->fault);
    census c = {.e = e, .graph = g, .nfetches = nfetches, .fetches = fetches, .scratch = &scratch};
    bool   ok = add_up(&c) && show_one(&c);
    program_free(c.sample);
    arena_free(&scratch);
    if (ok) return e;
    estimate_free(e);
    return NULL;
}

void estimate_free(estimate *e)
{
    if (!e) return;
    program_free(e->program);
    arena_free(&e->arena);
    block_free(&e->session->allocator, e);
}

bool estimate_largest(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                      const estimate_opts *opts, double *seconds, int64_t *peak, int64_t *instrs)
{
    int       last = mesh_size(opts->mesh) - 1;
    plan_opts how = {
        .guard = opts->guard, .layout = opts->layout, .here = mesh_place(opts->mesh, last)};
    program *q = plan_program(g, nfetches, fetches, &how);
    TRY(q != NULL);
    price p;
    bool  ok = price_one(opts, q, last, &q->arena, &p);
    *seconds = p.seconds;
    *peak = p.memory.peak;
    *instrs = q->ninstrs;
    program_free(q);
    return ok;
}
