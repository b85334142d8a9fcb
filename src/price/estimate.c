/* Estimates: the cost of a step on all processors. */
#include "price/estimate.h"

#include <assert.h>

#include "base/free_list.h"
#include "base/saturate.h"
#include "price/census.h"
#include "price/counters.h"
#include "price/duplicates.h"
#include "price/traffic_sums.h"

/* Up to FEW_INSTRS instructions in all, every processor is priced.  Beyond that, kinds of
 * processors are, unless some processors of a kind turn out to differ: what an op does may depend
 * on a processor's position.  Then all positions along the distinguishing axes are priced.  Beyond
 * MOST_INSTRS, some kinds stand for the others (census.h).  Other processors of a kind are checked
 * with at most ASKED_INSTRS instructions. */
enum { FEW_INSTRS = 2000, MOST_INSTRS = 200 * 1000, ASKED_INSTRS = 10 * 1000 };

typedef struct reckoning {
    estimate    *e;
    census       census;
    double       slowest;  /* seconds of the slowest so far */
    counters     counters; /* of collectives */
    int          ncollectives;
    traffic_sum *sums;   /* by collective: all processors have the same, in the same order */
    int          odd[2]; /* two processors of one kind that differ */
    int64_t      asked;  /* instructions planned to check kinds */
    free_list    idle;   /* keeps the memory of freed programs */
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

/* Plans the sample, which says how many kinds are not too many. */
static bool open_census(census *c)
{
    TRY(census_open(c));
    c->most = MOST_INSTRS / (c->sample->ninstrs + 1) + 1;
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

static bool costs_the_same(const program *a, const program *b)
{
    return a->cost.flops == b->cost.flops && a->ninstrs == b->ninstrs &&
           a->cost.peak_bytes == b->cost.peak_bytes;
}

/* Do other processors of the kind cost the same?  Checks the last one and another. */
static bool check_kind(reckoning *r, const kind *x, const price *p, bool *alike)
{
    int asked[2] = {x->last, x->other};
    for (int k = 0; k < 2 && *alike && r->asked < ASKED_INSTRS; k++) {
        if (asked[k] == x->first || (k && asked[k] == asked[0])) continue;
        bool     known = asked[k] == r->census.processors - 1;
        program *q = known ? r->census.sample : census_plan(&r->census, asked[k]);
        TRY(q != NULL);
        *alike = costs_the_same(q, p->program);
        r->asked += q->ninstrs;
        if (!known) program_free(q);
        if (!*alike) r->odd[0] = x->first, r->odd[1] = asked[k];
    }
    return true;
}

static int64_t plus(int64_t a, int64_t b, int64_t times)
{
    return saturate_plus(a, saturate_times(b, times));
}

/* ---- traffic ---- */

static bool begin_traffic(reckoning *r)
{
    const program *q = r->census.sample;
    r->ncollectives = 0;
    for (int k = 0; k < q->ninstrs; k++) r->ncollectives += instr_is_collective(&q->instrs[k]);
    r->sums = arena_array(r->census.scratch, traffic_sum, r->ncollectives + 1);
    return r->sums != NULL;
}

static void add_traffic(reckoning *r, const kind *x, const program *q)
{
    const mesh *m = r->census.mesh;
    const site *at = r->e->opts.rates.site;
    mesh_point  here = mesh_place(m, x->first), last = mesh_place(m, x->last);
    int         n = 0;
    for (int k = 0; k < q->ninstrs; k++) {
        const instr *i = &q->instrs[k];
        if (!instr_is_collective(i)) continue;
        assert(n < r->ncollectives);
        /* Some processors of a kind may share memory with their groups, others not. */
        if (i->kind == INSTR_REDUCE &&
            traffic_is_sharded(at, m, i, &here) != traffic_is_sharded(at, m, i, &last))
            r->e->approximate = true;
        if (r->census.each)
            traffic_sum_add(&r->sums[n++], at, m, i, &here);
        else
            traffic_sum_add_kind(&r->sums[n++], at, m, i, &here, x->count);
    }
}

/* All that is sent is received: both sums are equal. */
static bool end_traffic(reckoning *r)
{
    const program *q = r->census.sample;
    estimate      *e = r->e;
    price          p;
    int            n = 0;
    if (!r->ncollectives) return true;
    TRY(price_one(&e->opts, q, r->census.processors - 1, r->census.scratch, &p));
    for (int k = 0; k < q->ninstrs; k++) {
        const instr *i = &q->instrs[k];
        if (!instr_is_collective(i)) continue;
        traffic_sum *t = &r->sums[n++];
        int64_t      each = (int64_t)mtf_dtype_bytes(i->out[0].type);
        if (!r->census.each) traffic_sum_end(t, r->census.mesh, i);
        e->flops = plus(e->flops, t->flops, p.lines[k].executions);
        e->sent_bytes =
            plus(e->sent_bytes, saturate_times(t->received, each), p.lines[k].executions);
        if (e->opts.count)
            TRY(counters_add_collective(&r->counters, &p, k,
                                        counters_collective(i, t->results, t->received)));
    }
    return true;
}

/* ---- kinds ---- */

/* Updates the slowest processor, and the one that needs most memory. */
static void compare(reckoning *r, int processor, const price *p)
{
    estimate *e = r->e;
    if (p->memory.peak > e->memory.peak || e->largest < 0)
        e->memory = p->memory, e->largest = processor;
    if (p->seconds > r->slowest || e->processor < 0)
        r->slowest = p->seconds, e->processor = processor;
}

/* Plans one program at a time: there may be thousands. */
static bool add_kind(reckoning *r, const kind *x, bool *alike)
{
    estimate *e = r->e;
    price     p;
    program  *q = census_plan(&r->census, x->first);
    TRY(q != NULL);
    bool ok = price_one(&e->opts, q, x->first, &q->arena, &p) && check_kind(r, x, &p, alike);
    if (ok) {
        add_traffic(r, x, q);
        e->flops = plus(e->flops, p.flops - p.wire_flops, x->count);
        compare(r, x->first, &p);
    }
    /* Of a kind, the last processor has the longest shards in collectives. */
    if (ok && x->last != x->first) {
        ok = price_one(&e->opts, q, x->last, &q->arena, &p);
        if (ok) compare(r, x->last, &p);
    }
    program_free(q);
    return ok;
}

static bool add_all(reckoning *r, bool *alike)
{
    census *c = &r->census;
    r->e->flops = r->e->sent_bytes = 0;
    r->e->largest = r->e->processor = -1;
    r->e->memory = (price_memory){0};
    r->counters = (counters){.arena = &r->e->arena};
    TRY(census_take(c) && begin_traffic(r));
    for (int k = 0; k < c->nkinds && *alike; k++) TRY(add_kind(r, &c->kinds[k], alike));
    r->e->kinds = c->nkinds;
    r->e->approximate |= c->sampled;
    return end_traffic(r);
}

/* Finds the axes along which two different processors of a kind differ.  If no single axis makes a
 * difference, all may. */
static bool find_distinct(reckoning *r)
{
    census    *c = &r->census;
    unsigned   before = c->distinct;
    mesh_point there = mesh_place(c->mesh, r->odd[1]);
    program   *one = census_plan(c, r->odd[0]);
    bool       ok = one != NULL;
    for (int a = 0; ok && a < c->mesh->naxes; a++) {
        mesh_point between = mesh_place(c->mesh, r->odd[0]);
        if (between.at[a] == there.at[a]) continue;
        between.at[a] = there.at[a];
        program *other = census_plan(c, mesh_number(c->mesh, &between));
        ok = other != NULL;
        if (ok && !costs_the_same(one, other)) c->distinct |= 1u << a;
        program_free(other);
    }
    program_free(one);
    if (c->distinct == before) c->distinct = ~0u;
    return ok;
}

static bool add_up(reckoning *r)
{
    census *c = &r->census;
    bool    alike = true;
    TRY(open_census(c));
    if (!c->opts.memory) c->opts.memory = &r->idle.as; /* but the sample may be kept */
    c->each = (int64_t)c->sample->ninstrs * c->processors <= FEW_INSTRS;
    TRY(add_all(r, &alike));
    while (!alike) {
        TRY(find_distinct(r));
        c->each = c->distinct == ~0u && c->processors <= c->most;
        alike = true;
        TRY(add_all(r, &alike));
    }
    return true;
}

/* The program of the processor shown: often that of the sample, which was not verified yet. */
static program *shown_program(reckoning *r)
{
    const estimate *e = r->e;
    census         *c = &r->census;
    program        *q = c->sample;
    if (e->processor == c->processors - 1 && !e->opts.count && !e->opts.memory) {
        c->sample = NULL;
        if (program_verify(q, plan_pass_name(PASS_ALL))) return q;
        program_free(q);
        return NULL;
    }
    plan_opts how = {.guard = e->opts.guard,
                     .layout = e->opts.layout,
                     .here = mesh_place(e->opts.mesh, e->processor),
                     .count = e->opts.count,
                     .survey = &c->survey};
    return plan_program(c->graph, c->nfetches, c->fetches, &how);
}

/* The program and price of the processor shown, and what of its work others repeat. */
static bool show_one(reckoning *r)
{
    estimate *e = r->e;
    price    *p = &e->price;
    if (e->opts.processor >= 0) e->processor = e->opts.processor;
    e->program = shown_program(r);
    TRY(e->program && price_one(&e->opts, e->program, e->processor, &e->arena, p));
    TRY(!e->opts.count || counters_keep(e->program, &r->counters));
    TRY(duplicates_find(p, &r->census));
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
    TRY(open_census(c) && census_take(c));
    for (int k = 0; k < c->nkinds; k++) {
        bool     last = c->kinds[k].last == c->processors - 1;
        program *q = last ? c->sample : census_plan(c, c->kinds[k].first);
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

/* ---- the estimate ---- */

estimate *estimate_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                         const estimate_opts *opts)
{
    mtf_session *s = g->session;
    estimate    *e = block_alloc(&s->allocator, &s->fault, sizeof *e, true);
    if (!e) return NULL;
    *e = (estimate){.session = s, .opts = *opts, .processors = mesh_size(opts->mesh)};
    e->arena = arena_make(&s->allocator, &s->fault);
    e->batch = g->batch;
    e->parts = g->divided > 1 ? g->divided : 1;
    arena     scratch = arena_make(&s->allocator, &s->fault);
    reckoning r = {.e = e, .census = census_of(g, nfetches, fetches, opts, &scratch)};
    free_list_open(&r.idle, &s->allocator);
    bool ok = add_up(&r) && show_one(&r);
    program_free(r.census.sample);
    arena_free(&scratch);
    free_list_close(&r.idle);
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
    plan_opts how = {.guard = opts->guard,
                     .layout = opts->layout,
                     .here = mesh_place(opts->mesh, last),
                     .draft = true,
                     .survey = opts->survey,
                     .memory = opts->memory};
    program  *q = plan_program(g, nfetches, fetches, &how);
    TRY(q != NULL);
    price p;
    bool  ok = price_one(opts, q, last, &q->arena, &p);
    *seconds = p.seconds;
    *peak = p.memory.peak;
    *instrs = q->ninstrs;
    program_free(q);
    return ok;
}
