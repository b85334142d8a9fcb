/* Estimates: what a step costs on every processor of a mesh. */
#include "plan/estimate.h"

#include "base/saturate.h"
#include "plan/census.h"
#include "plan/counters.h"
#include "plan/duplicates.h"
#include "plan/traffic.h"

/* Up to so many instructions in all, every processor is priced by itself.  Beyond, kinds of
 * processors are, unless some of a kind turn out to differ: what an op does may depend on where
 * a processor stands.  Then all are, up to the second bound. */
enum { FEW_INSTRS = 200 * 1000, MOST_INSTRS = 20 * 1000 * 1000 };

typedef struct reckoning {
    estimate *e;
    census    census;
    double    slowest;  /* seconds of the slowest so far */
    counters  counters; /* of collectives */
} reckoning;

static census census_of(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                        const estimate_opts *o, arena *scratch)
{
    return (census){.graph = g,
                    .nfetches = nfetches,
                    .fetches = fetches,
                    .mesh = o->mesh,
                    .opts = {.guard = o->guard, .layout = o->layout, .memory = o->memory},
                    .scratch = scratch};
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
static bool check_kind(const census *c, const kind *x, const price *p, bool *alike)
{
    int asked[2] = {x->last, x->first};
    for (int k = 0; k < x->count / 2; k++) asked[1] = c->next[asked[1]];
    for (int k = 0; k < 2 && *alike && asked[k] != x->first; k++) {
        program *q = census_plan(c, asked[k], false);
        TRY(q != NULL);
        *alike = q->cost.flops == p->program->cost.flops &&
                 q->cost.peak_bytes == p->program->cost.peak_bytes &&
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
static bool add_traffic(reckoning *r, const kind *x, const price *p)
{
    census     *c = &r->census;
    const mesh *m = c->mesh;
    int         ninstrs = p->collectives ? p->program->ninstrs : 0;
    arena_mark  mark = arena_here(c->scratch);
    int64_t    *received = arena_array(c->scratch, int64_t, ninstrs + 1); /* by instruction */
    int64_t    *flops = arena_array(c->scratch, int64_t, ninstrs + 1);
    TRY(received && flops);
    for (int n = x->first; n >= 0 && ninstrs; n = c->next[n]) {
        mesh_point here = mesh_place(m, n);
        for (int k = 0; k < ninstrs; k++) {
            if (!p->lines[k].collective) continue;
            traffic t = traffic_of(r->e->opts.rates.site, m, &p->program->instrs[k], &here);
            received[k] = saturate_plus(received[k], traffic_in(&t));
            flops[k] = saturate_plus(flops[k], t.flops);
        }
    }
    for (int k = 0; k < ninstrs; k++) {
        if (!p->lines[k].collective) continue;
        int64_t each = (int64_t)mtf_dtype_bytes(p->program->instrs[k].out[0].type);
        r->e->flops = plus(r->e->flops, flops[k], p->lines[k].turns);
        r->e->sent_bytes =
            plus(r->e->sent_bytes, saturate_times(received[k], each), p->lines[k].turns);
        if (r->e->opts.count)
            TRY(counters_add_collective(
                &r->counters, p, k,
                counters_collective(&p->program->instrs[k], x->count, received[k])));
    }
    arena_back(c->scratch, mark);
    return true;
}

/* One program at a time: there may be thousands. */
static bool add_kind(reckoning *r, const kind *x, bool *alike)
{
    estimate *e = r->e;
    price     p;
    program  *q = census_plan(&r->census, x->first, false);
    TRY(q != NULL);
    bool ok =
        price_one(&e->opts, q, x->first, &q->arena, &p) && check_kind(&r->census, x, &p, alike);
    ok = ok && add_traffic(r, x, &p);
    if (ok) {
        e->flops = plus(e->flops, p.flops - p.wire_flops, x->count);
        if (p.memory.peak > e->memory.peak || x == r->census.kinds)
            e->memory = p.memory, e->largest = x->first;
        if (p.seconds > r->slowest || x == r->census.kinds)
            r->slowest = p.seconds, e->processor = x->first;
    }
    program_free(q);
    return ok;
}

static bool add_all(reckoning *r, bool *alike)
{
    census *c = &r->census;
    r->e->flops = r->e->sent_bytes = 0;
    r->counters = (counters){.arena = &r->e->arena};
    TRY(census_take(c));
    for (int k = 0; k < c->nkinds && (*alike || r->e->approximate); k++)
        TRY(add_kind(r, &c->kinds[k], alike));
    r->e->kinds = c->nkinds;
    return true;
}

static bool add_up(reckoning *r)
{
    census *c = &r->census;
    bool    alike = true;
    TRY(census_open(c));
    c->edges = ~0u; /* what is fetched and computed twice is asked for, too */
    int64_t instrs = (int64_t)c->sample->ninstrs * c->processors;
    c->each = instrs <= FEW_INSTRS;
    TRY(add_all(r, &alike));
    if (alike) return true;
    c->each = instrs <= MOST_INSTRS;
    r->e->approximate = !c->each;
    return add_all(r, &alike);
}

/* The processor shown: its own program and price, and what of it others do as well. */
static bool show_one(reckoning *r)
{
    estimate *e = r->e;
    price    *p = &e->price;
    if (e->opts.processor >= 0) e->processor = e->opts.processor;
    e->program = census_plan(&r->census, e->processor, e->opts.count);
    TRY(e->program && price_one(&e->opts, e->program, e->processor, &e->arena, p));
    TRY(!e->opts.count || counters_keep(e->program, &r->counters));
    TRY(duplicates_find(p, r->census.graph, r->census.nfetches, r->census.fetches,
                        r->census.scratch));
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

/* ---- memory ---- */

static bool find_peak(census *c, const site *s, int64_t *peak)
{
    *peak = 0;
    TRY(census_open(c) && census_take(c));
    for (int k = 0; k < c->nkinds; k++) {
        bool     last = c->kinds[k].last == c->processors - 1;
        program *q = last ? c->sample : census_plan(c, c->kinds[k].first, false);
        TRY(q != NULL);
        int64_t bytes = price_peak(q, s, c->mesh, c->kinds[k].first);
        if (bytes > *peak) *peak = bytes;
        if (!last) program_free(q);
    }
    return true;
}

bool estimate_peak(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                   const estimate_opts *opts, int64_t *peak)
{
    arena  scratch = arena_make(&g->session->allocator, &g->session->fault);
    census c = census_of(g, nfetches, fetches, opts, &scratch);
    bool   ok = find_peak(&c, opts->rates.site, peak);
    program_free(c.sample);
    arena_free(&scratch);
    return ok;
}

/* ---- all of it ---- */

estimate *estimate_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                         const estimate_opts *opts)
{
    mtf_session *s = g->session;
    estimate    *e = block_alloc(&s->allocator, &s->fault, sizeof *e, true);
    if (!e) return NULL;
    *e = (estimate){.session = s, .opts = *opts, .processors = mesh_size(opts->mesh)};
    e->arena = arena_make(&s->allocator, &s->fault);
    arena     scratch = arena_make(&s->allocator, &s->fault);
    reckoning r = {.e = e, .census = census_of(g, nfetches, fetches, opts, &scratch)};
    bool      ok = add_up(&r) && show_one(&r);
    program_free(r.census.sample);
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
