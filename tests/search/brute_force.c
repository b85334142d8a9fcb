/* Every legal layout, priced one by one: what a search is compared with. */
#include "brute_force.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/free_list.h"
#include "price/decline.h"
#include "plan/plan.h"
#include "price/price.h"

enum { DIMS = 24, ROOM = 20000 };

const price_rates brute_machines[BRUTE_RATES] = {
    {.flops = 30e9, .memory = 10e9, .wire = 5e9, .latency = 10e-6},
    {.flops = 1e6, .memory = 1e9, .wire = 1e8, .latency = 1e-9, .alone = 1.6},
    {.flops = 1e12, .memory = 1e6, .wire = 1e7, .latency = 1e-9},
    {.flops = 1e7,
     .memory = 1e7,
     .wire = 1e5,
     .latency = 1e-7,
     .start = 1e-7,
     .nproducts = 2,
     .products = {{MTF_F32, 0, 2e6}, {MTF_F32, 3, 8e6}}},
    {.flops = 1e6, .memory = 1e8, .wire = 1e8, .latency = 1e-7, .pauses = 1e4, .pause = 1e-4},
    {.flops = 1e8,
     .rows = 1e6,
     .memory = 1e6,
     .wire = 1e7,
     .latency = 1e-7,
     .ncaches = 2,
     .caches = {{256, 2e7}, {2048, 8e6}}},
    {.flops = 1e7,
     .memory = 1e9,
     .wire = 1e8,
     .latency = 1e-6,
     .message = 1e-7,
     .node = 2,
     .outer_wire = 1e7,
     .outer_latency = 1e-5,
     .outer_message = 1e-6,
     .nwindows = 3,
     .windows = {{.type = MTF_F32, .channels = 1, .flops = 4e6},
                 {.type = MTF_F32, .channels = 2, .flops = 1e6},
                 {.type = MTF_F32, .channels = 4, .flops = 2e7}}},
};

typedef struct priced {
    double  seconds[BRUTE_RATES]; /* of the slowest processor */
    int64_t peak;                 /* of the one that needs most */
} priced;

typedef struct walk {
    brute      *b;
    bool       *live;
    const char *names[DIMS];
    int         ndims;
    layout      layout;
    layout_rule rules[DIMS], state[DIMS * MAX_AXES];
    priced     *all;
    free_list   memory;
} walk;

static void list_dims(walk *w)
{
    const mtf_graph *g = w->b->graph;
    for (int i = 0; i < g->ntensors; i++)
        for (int d = 0; d < g->all[i]->shape.ndims && w->live[g->all[i]->node->id]; d++) {
            if (g->all[i]->shape.dims[d].size < 2) continue; /* nothing to cut */
            if (name_is_internal(g->all[i]->shape.dims[d].name)) continue;
            int k = 0;
            while (k < w->ndims && strcmp(w->names[k], g->all[i]->shape.dims[d].name) != 0) k++;
            if (k == w->ndims && w->ndims < DIMS)
                w->names[w->ndims++] = g->all[i]->shape.dims[d].name;
        }
}

static bool is_legal(const walk *w)
{
    const mtf_graph *g = w->b->graph;
    for (int i = 0; i < g->ntensors; i++) {
        placement where;
        if (w->live[g->all[i]->node->id] &&
            !layout_place(&w->layout, &g->all[i]->shape, "", NULL, &where))
            return false;
    }
    return true;
}

static bool price_layout(const walk *w, const layout *l, priced *p)
{
    const brute *b = w->b;
    *p = (priced){0};
    for (int k = 0; k < mesh_size(b->mesh); k++) {
        plan_opts how = {.layout = l, .here = mesh_place(b->mesh, k), .memory = &w->memory.as};
        program  *q = plan_program(b->graph, b->nfetches, b->fetches, &how);
        bool      ok = q != NULL;
        for (int r = 0; ok && r < b->nrates; r++) {
            price x = {
                .program = q, .mesh = b->mesh, .layout = l, .here = how.here, .rates = b->rates[r]};
            ok = price_program(&x, &q->arena);
            p->seconds[r] = fmax(p->seconds[r], x.seconds);
        }
        if (ok && q->cost.peak_bytes > p->peak) p->peak = q->cost.peak_bytes;
        program_free(q);
        TRY(ok);
    }
    return true;
}

static bool is_stored(const walk *w, const char *dim)
{
    const mtf_graph *g = w->b->graph;
    for (int i = 0; i < g->ntensors; i++)
        if (strcmp(g->all[i]->node->op->name, "variable") == 0 &&
            shape_find(&g->all[i]->shape, dim) >= 0)
            return true;
    return false;
}

/* Rules for state that raise the memory do not come into force. */
static bool is_declined(const walk *w)
{
    layout        l = w->layout;
    estimate_opts how = {.mesh = w->b->mesh, .memory = &w->memory.as};
    decline_state_rules(w->b->graph, w->b->nfetches, w->b->fetches, &how, &l);
    return l.ndeclined > 0;
}

static bool price_one(walk *w)
{
    brute *b = w->b;
    if (w->layout.nstate && is_declined(w)) return true;
    if (b->legal >= b->most || b->legal >= ROOM) return false;
    return price_layout(w, &w->layout, &w->all[b->legal++]);
}

/* Dimensions by name: each along any set of axes, in the order of the mesh. */
static bool visit_state(walk *w, int d)
{
    layout *l = &w->layout;
    int     naxes = w->b->mesh->naxes;
    if (d == w->ndims) return price_one(w);
    if (!visit_state(w, d + 1)) return false;
    if (!is_stored(w, w->names[d])) return true;
    layout_rule *r = &l->state[l->nstate++];
    bool         ok = true;
    for (unsigned axes = 1; axes < 1u << naxes && ok; axes++) {
        *r = (layout_rule){.dim = w->names[d], .text = w->names[d]};
        for (int a = 0; a < naxes; a++)
            if (axes >> a & 1) r->cut.axis[r->cut.n++] = (uint8_t)a;
        ok = visit_state(w, d + 1);
    }
    l->nstate--;
    return ok;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A rule more makes no layout legal that was not: so branches end early. */
static bool visit(walk *w, int d)
{
    brute *b = w->b;
    if (!is_legal(w)) return true;
    if (d == w->ndims) return b->with_state ? visit_state(w, 0) : price_one(w);
    for (unsigned axes = 0; axes < 1u << b->mesh->naxes; axes++) {
        int kept = w->layout.nrules;
        if (axes) {
            layout_rule *r = &w->rules[w->layout.nrules++];
            *r = (layout_rule){.dim = w->names[d], .text = w->names[d]};
            for (int a = 0; a < b->mesh->naxes; a++)
                if (axes >> a & 1) r->cut.axis[r->cut.n++] = (uint8_t)a;
        }
        if (!visit(w, d + 1)) return false;
        w->layout.nrules = kept;
    }
    return true;
}

static int by_peak(const void *a, const void *b)
{
    const priced *x = a, *y = b;
    return x->peak < y->peak ? -1 : x->peak > y->peak;
}

bool brute_force(brute *b)
{
    mtf_session *s = b->graph->session;
    arena        scratch = arena_make(&s->allocator, &s->fault);
    survey       live = {.graph = b->graph, .scratch = &scratch};
    walk         w = {.b = b, .layout = {.mesh = b->mesh}};
    bool         ok = survey_live(&live, b->nfetches, b->fetches);
    free_list_open(&w.memory, &s->allocator);
    w.live = live.live;
    w.layout.rules = w.rules;
    w.layout.state = w.state;
    w.all = malloc(sizeof *w.all * ROOM);
    b->legal = 0;
    if (ok) list_dims(&w);
    qsort(w.names, (size_t)w.ndims, sizeof *w.names, by_name);
    ok = ok && w.all && w.ndims < DIMS && visit(&w, 0) && b->legal > 0;
    if (ok) {
        qsort(w.all, (size_t)b->legal, sizeof *w.all, by_peak);
        b->smallest = w.all[0].peak;
        b->median = w.all[(b->legal - 1) / 2].peak;
        for (int r = 0; r < b->nrates; r++) {
            double *all = &b->fastest[r], *within = &b->fastest_within[r];
            *all = *within = INFINITY;
            for (int64_t k = 0; k < b->legal; k++) {
                double seconds = w.all[k].seconds[r];
                *all = fmin(*all, seconds);
                if (w.all[k].peak <= b->median) *within = fmin(*within, seconds);
            }
        }
    }
    free_list_close(&w.memory);
    free(w.all);
    arena_free(&scratch);
    return ok;
}
