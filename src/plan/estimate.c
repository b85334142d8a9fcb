/* Estimates: what a step costs on every processor of a mesh. */
#include "plan/estimate.h"

#include <string.h>

#include "plan/duplicates.h"
#include "plan/traffic.h"

/* Up to this many, every processor is a kind of its own. */
enum { FEW = 16 };

/* A cut dimension of some tensor: what decides a processor's sizes. */
typedef struct cut_dim {
    const axis_list *cut;
    int64_t          size;
} cut_dim;

/* Processors alike: for each cut dimension the shorter or the longer part, for each axis first,
 * last, or in between (an op may have less to do at an edge). */
typedef struct kind {
    int      first; /* the lowest number of the kind */
    int      count;
    uint8_t *key;
    program *program;
    price    price;
} kind;

typedef struct census {
    estimate           *e;
    mtf_graph          *graph;
    int                 nfetches;
    mtf_tensor *const  *fetches;
    arena              *scratch;
    cut_dim            *dims;
    int                 ndims, dims_room;
    kind               *kinds;
    int                 nkinds, kinds_room;
    int                *kind_of; /* by processor */
} census;

/* ---- kinds of processors ---- */

static bool list_cut_dims(census *c)
{
    const layout *l = c->e->opts.layout;
    for (int i = 0; i < c->graph->ntensors; i++) {
        const mtf_shape *shape = &c->graph->all[i]->shape;
        for (int d = 0; d < shape->ndims; d++) {
            const layout_rule *r = layout_find(l, shape->dims[d].name);
            bool               known = !r;
            for (int k = 0; k < c->ndims && !known; k++)
                known = cut_equal(c->dims[k].cut, &r->cut) && c->dims[k].size == shape->dims[d].size;
            if (known) continue;
            TRY(arena_push(c->scratch, c->dims, c->ndims, c->dims_room));
            c->dims[c->ndims++] = (cut_dim){&r->cut, shape->dims[d].size};
        }
    }
    return true;
}

static int key_length(const census *c)
{
    return c->ndims + c->e->opts.mesh->naxes + (int)sizeof(int);
}

static void write_key(const census *c, int number, uint8_t *key)
{
    const mesh *m = c->e->opts.mesh;
    mesh_point  here = mesh_place(m, number);
    for (int d = 0; d < c->ndims; d++) {
        int parts = cut_parts(m, c->dims[d].cut);
        *key++ = cut_range(m, c->dims[d].cut, &here, c->dims[d].size).size > c->dims[d].size / parts;
    }
    for (int a = 0; a < m->naxes; a++)
        *key++ = (uint8_t)(here.at[a] == 0 ? 0 : here.at[a] == m->size[a] - 1 ? 2 : 1);
    int own = c->e->processors <= FEW ? number : 0;
    memcpy(key, &own, sizeof own);
}

static bool take_census(census *c)
{
    int      length = key_length(c), newest = 0;
    uint8_t *key = arena_alloc(c->scratch, (size_t)length);
    c->kind_of = arena_array(c->scratch, int, c->e->processors);
    TRY(key && c->kind_of);
    for (int p = 0; p < c->e->processors; p++) {
        write_key(c, p, key);
        int k = newest; /* neighbours are mostly alike */
        if (!c->nkinds || memcmp(c->kinds[k].key, key, (size_t)length) != 0)
            for (k = 0; k < c->nkinds && memcmp(c->kinds[k].key, key, (size_t)length) != 0; k++) continue;
        if (k == c->nkinds) {
            TRY(arena_push(c->scratch, c->kinds, c->nkinds, c->kinds_room));
            c->kinds[c->nkinds++] = (kind){.first = p, .key = arena_copy(c->scratch, key, (size_t)length)};
            TRY(c->kinds[k].key != NULL);
        }
        c->kinds[k].count++;
        c->kind_of[p] = newest = k;
    }
    return true;
}

/* ---- one processor ---- */

static program *plan_one(census *c, int number)
{
    const estimate_opts *o = &c->e->opts;
    plan_opts            how = {.guard = o->guard, .layout = o->layout, .here = mesh_place(o->mesh, number)};
    return plan_program(c->graph, c->nfetches, c->fetches, &how);
}

static bool price_one(const estimate_opts *o, const program *q, int number, arena *a, price *p)
{
    *p = (price){.program = q, .mesh = o->mesh, .layout = o->layout, .rates = o->rates,
                 .here = mesh_place(o->mesh, number)};
    return price_program(p, a);
}

static bool price_kinds(census *c)
{
    for (int k = 0; k < c->nkinds; k++) {
        kind *x = &c->kinds[k];
        x->program = plan_one(c, x->first);
        TRY(x->program && price_one(&c->e->opts, x->program, x->first, c->scratch, &x->price));
    }
    return true;
}

/* ---- all together ---- */

static int64_t plus(int64_t a, int64_t b, int64_t times)
{
    int64_t sum;
    return __builtin_mul_overflow(b, times, &b) || __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* What everybody sends somebody receives. */
static void add_up(census *c)
{
    estimate   *e = c->e;
    const mesh *m = e->opts.mesh;
    for (int k = 0; k < c->nkinds; k++) {
        const price *p = &c->kinds[k].price;
        e->flops = plus(e->flops, p->flops, c->kinds[k].count);
        if (k == 0 || p->memory.peak > e->memory.peak) e->memory = p->memory, e->largest = c->kinds[k].first;
    }
    for (int n = 0; n < e->processors; n++) {
        const price *p = &c->kinds[c->kind_of[n]].price;
        mesh_point   here = mesh_place(m, n);
        for (int i = 0; i < p->program->ninstrs && p->collectives; i++) {
            if (!p->lines[i].collective) continue;
            const instr *x = &p->program->instrs[i];
            int64_t      bytes = traffic_received(m, x, &here) * (int64_t)mtf_dtype_bytes(x->out[0].type);
            e->sent_bytes = plus(e->sent_bytes, bytes, p->lines[i].turns);
        }
    }
}

static int slowest(const census *c)
{
    int best = 0;
    for (int k = 1; k < c->nkinds; k++)
        if (c->kinds[k].price.seconds > c->kinds[best].price.seconds) best = k;
    return c->kinds[best].first;
}

/* The processor shown: its own program and price, and what of it others do as well. */
static bool show_one(census *c)
{
    estimate *e = c->e;
    price    *p = &e->price;
    e->processor = e->opts.processor >= 0 ? e->opts.processor : slowest(c);
    e->program = plan_one(c, e->processor);
    TRY(e->program && price_one(&e->opts, e->program, e->processor, &e->arena, p));
    TRY(duplicates_find(p, c->graph, c->nfetches, c->fetches, c->scratch));
    for (int k = 0; k < e->program->ninstrs; k++) {
        const price_line *line = &p->lines[k];
        if (!line->duplicate) continue;
        e->duplicate += (double)line->flops * (1 - 1.0 / traffic_group(p->mesh, line->duplicate));
        for (int a = 0; a < p->mesh->naxes; a++)
            if (line->duplicate >> a & 1) e->duplicate_along[a] += (double)line->flops * (1 - 1.0 / p->mesh->size[a]);
    }
    return true;
}

estimate *estimate_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const estimate_opts *opts)
{
    mtf_session *s = g->session;
    estimate    *e = block_alloc(&s->allocator, &s->fault, sizeof *e, true);
    if (!e) return NULL;
    *e = (estimate){.session = s, .opts = *opts, .processors = mesh_size(opts->mesh)};
    e->arena = arena_make(&s->allocator, &s->fault);
    arena  scratch = arena_make(&s->allocator, &s->fault);
    census c = {.e = e, .graph = g, .nfetches = nfetches, .fetches = fetches, .scratch = &scratch};
    bool   ok = list_cut_dims(&c) && take_census(&c) && price_kinds(&c);
    if (ok) {
        add_up(&c);
        e->kinds = c.nkinds;
        ok = show_one(&c);
    }
    for (int k = 0; k < c.nkinds; k++) program_free(c.kinds[k].program);
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

bool estimate_largest(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const estimate_opts *opts,
                      double *seconds, int64_t *peak)
{
    int       last = mesh_size(opts->mesh) - 1;
    plan_opts how = {.guard = opts->guard, .layout = opts->layout, .here = mesh_place(opts->mesh, last)};
    program  *q = plan_program(g, nfetches, fetches, &how);
    TRY(q != NULL);
    price p;
    bool  ok = price_one(opts, q, last, &q->arena, &p);
    *seconds = p.seconds;
    *peak = p.memory.peak;
    program_free(q);
    return ok;
}
