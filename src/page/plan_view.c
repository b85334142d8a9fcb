/* What a page shows of a plan: times, memory, parts. */
#include "page/plan_view.h"

#include <string.h>

const char *const memory_names[MEMORY_KINDS] = {[MEMORY_PARAMETERS] = "parameters",
                                                [MEMORY_STATE] = "optimizer state",
                                                [MEMORY_BUFFERS] = "buffers",
                                                [MEMORY_ACTIVATIONS] = "activations",
                                                [MEMORY_GRADIENTS] = "gradients"};

const char *const memory_classes[MEMORY_KINDS] = {[MEMORY_PARAMETERS] = "par",
                                                  [MEMORY_STATE] = "sta",
                                                  [MEMORY_BUFFERS] = "buf",
                                                  [MEMORY_ACTIVATIONS] = "act",
                                                  [MEMORY_GRADIENTS] = "gra"};

/* ---- times ---- */

static bool find_times(plan_view *v)
{
    const price *p = &v->e->price;
    int          n = v->e->program->ninstrs;
    v->begin = arena_array(v->arena, double, n + 2);
    TRY(v->begin != NULL);
    for (int k = 0; k < n; k++) v->begin[k + 1] = v->begin[k] + p->lines[k].seconds;
    v->end = v->begin[n] > 0 ? v->begin[n] : 1;
    return true;
}

/* ---- memory ---- */

static memory_kind kind_of(const plan_view *v, const buffer *b)
{
    switch (b->kind) {
    case BUFFER_VARIABLE: return price_is_trained(b->cause) ? MEMORY_PARAMETERS : MEMORY_STATE;
    case BUFFER_INPUT:
    case BUFFER_CONSTANT: return MEMORY_BUFFERS;
    default: break;
    }
    if (!b->cause) return MEMORY_BUFFERS;
    return v->phases.phase[b->cause->id] == PHASE_FORWARD ? MEMORY_ACTIVATIONS : MEMORY_GRADIENTS;
}

static bool add_lifetime(plan_view *v, lifetime t)
{
    if (t.bytes <= 0) return true;
    TRY(arena_push(v->arena, v->lifetimes, v->nlifetimes, v->room));
    v->lifetimes[v->nlifetimes++] = t;
    return true;
}

/* A buffer is alive until its last use, or until another buffer reuses its place. */
static bool add_buffers(plan_view *v)
{
    const program *p = v->e->program;
    int           *until = arena_array(v->arena, int, p->nbuffers + 1);
    TRY(until != NULL);
    for (int b = 0; b < p->nbuffers; b++) until[b] = p->buffers[b].last;
    for (int b = 0; b < p->nbuffers; b++) {
        int before = p->buffers[b].shares;
        if (before != b && until[before] >= p->buffers[b].first)
            until[before] = p->buffers[b].first - 1;
    }
    for (int b = 0; b < p->nbuffers; b++) {
        const buffer *x = &p->buffers[b];
        bool          stays = x->kind == BUFFER_VARIABLE;
        if (!stays && x->first < 0) continue;
        int64_t bytes = stays ? x->bytes : ((x->bytes ? x->bytes : 1) + 63) / 64 * 64;
        TRY(add_lifetime(
            v, (lifetime){.tensor = x->cause,
                          .kind = kind_of(v, x),
                          .bytes = bytes,
                          .first = stays ? 0 : x->first,
                          .last = stays || until[b] >= p->ninstrs ? p->ninstrs - 1 : until[b]}));
    }
    return true;
}

static bool add_working_space(plan_view *v)
{
    const price_memory *m = &v->e->price.memory;
    lifetime            t = {.kind = MEMORY_BUFFERS, .last = v->e->program->ninstrs - 1};
    t.what = "working space of kernels", t.bytes = m->scratch;
    TRY(add_lifetime(v, t));
    t.what = "working space of collectives", t.bytes = m->wire;
    return add_lifetime(v, t);
}

/* Of all kinds. */
static int64_t view_alive(const plan_view *v, int k)
{
    int64_t sum = 0;
    for (int j = 0; j < MEMORY_KINDS; j++) sum += v->alive[k][j];
    return sum;
}

static bool find_alive(plan_view *v)
{
    int n = v->e->program->ninstrs;
    v->alive = arena_alloc(v->arena, sizeof *v->alive * (size_t)(n + 2));
    TRY(v->alive != NULL);
    for (int k = 0; k < v->nlifetimes; k++) {
        const lifetime *t = &v->lifetimes[k];
        v->alive[t->first][t->kind] += t->bytes;
        v->alive[t->last + 1][t->kind] -= t->bytes;
    }
    for (int k = 0; k < n; k++) {
        for (int j = 0; k > 0 && j < MEMORY_KINDS; j++) v->alive[k][j] += v->alive[k - 1][j];
        if (view_alive(v, k) > v->most) v->most = view_alive(v, k), v->peak = k;
    }
    v->reserved = v->e->price.memory.peak;
    return true;
}

bool plan_view_make(plan_view *v, mtf_graph *g, estimate *e, arena *a)
{
    const program *p = e->program;
    *v = (plan_view){.graph = g, .e = e, .arena = a};
    mtf_tensor **fetches = arena_array(a, mtf_tensor *, p->nfetches + 1);
    TRY(fetches != NULL);
    for (int k = 0; k < p->nfetches; k++) fetches[k] = g->all[p->fetches[k].tensor->id];
    return phases_find(g, p->nfetches, fetches, a, &v->phases) && find_times(v) && add_buffers(v) &&
           add_working_space(v) && find_alive(v);
}

/* ---- parts ---- */

void view_placement(const plan_view *v, const mtf_tensor *x, placement *where)
{
    const layout *l = v->e->opts.layout;
    memset(where, 0, sizeof *where);
    if (!l) return;
    if (!layout_place(l, &x->shape, "", NULL, where)) return;
    if (strcmp(x->node->op->name, "variable") == 0) layout_refine(l, &x->shape, where);
}

mtf_shape view_local(const plan_view *v, const mtf_tensor *x)
{
    placement where;
    view_placement(v, x, &where);
    return placement_local(v->e->opts.mesh, &where, &v->e->price.here, &x->shape);
}

const char *view_kind(const plan_view *v, int k)
{
    const char *collective = v->e->price.lines[k].collective;
    return collective ? collective : instr_name(v->e->program->instrs[k].kind);
}
