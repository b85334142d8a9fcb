/* Which nodes make up a part of a program. */
#include "search/sorting.h"

#include <string.h>

#include "ops/catalogue.h"
#include "ops/state.h"
#include "plan/plan.h"
#include "search/touched.h"

/* ---- which nodes are a part ---- */

uint64_t sorting_dims(const space *s, const mtf_tensor *x)
{
    uint64_t set = 0;
    for (int d = 0; d < x->shape.ndims; d++) {
        int at = space_find(s, x->shape.dims[d].name);
        if (at >= 0) set |= (uint64_t)1 << at;
    }
    return set;
}

static int leader_of(const sorting *s, int id)
{
    while (s->leader[id] != id) id = s->leader[id];
    return id;
}

static void join(sorting *s, const node *a, const node *b)
{
    int x = leader_of(s, a->id), y = leader_of(s, b->id);
    s->leader[x > y ? x : y] = x > y ? y : x;
}

/* The tensor that stands for x; of a loop's sum, what its iterations add. */
static const mtf_tensor *same(const sorting *s, const mtf_tensor *x)
{
    return s->survey->same[subject_source(s->survey->same[x->id])->id];
}

bool sorting_is_stored(const node *n)
{
    return variable_is(n) || strcmp(n->op->name, "input") == 0;
}

/* Dimensions of sums that n's inputs owe and n may pass on: where it is linear and their only
 * reader. A sum of several inputs passes on only what all of them owe. */
static uint64_t carried(const sorting *s, const node *n)
{
    uint64_t owed = 0;
    for (int i = 0; i < n->nin && n->op->debt; i++) {
        debt              rule = n->op->debt(n, i);
        const mtf_tensor *x = same(s, n->in[i]);
        uint64_t          mine = s->survey->readers[x->id] == 1 ? s->owed[x->id] : 0;
        if (rule == DEBT_SETTLE) continue;
        /* Owed sums in short floats are paid before arithmetic. */
        if (dtype_compute(x->type) != x->type && !(n->op->flags & OP_MOVES)) return 0;
        if (x->node->nin == 0 && !sorting_is_stored(x->node))
            continue; /* zeros do not prevent it */
        if (!mine && rule == DEBT_SUM) return 0;
        owed |= mine;
    }
    return owed;
}

static uint64_t reduced_dims(const sorting *s, const node *n)
{
    uint64_t set = 0;
    for (int i = 0; i < n->nin && n->op->split; i++)
        for (int d = 0; d < n->in[i]->shape.ndims; d++) {
            const char *name = n->in[i]->shape.dims[d].name;
            dim_split   split = n->op->split(n, name);
            int         at = space_find(s->p->space, name);
            bool        reduced = split != SPLIT_FREE && split != SPLIT_WHOLE && split != SPLIT_OWN;
            if (reduced && at >= 0) set |= (uint64_t)1 << at;
        }
    return set;
}

static bool is_product(const sorting *s, const node *n)
{
    return s->flops[n->id] > 0;
}

static void look_at(sorting *s, const node *n)
{
    uint64_t through = carried(s, n), owed = through | reduced_dims(s, n);
    for (int i = 0; i < n->nin; i++) s->dims[n->id] |= sorting_dims(s->p->space, n->in[i]);
    for (int o = 0; o < n->nout; o++) {
        s->dims[n->id] |= sorting_dims(s->p->space, n->out[o]);
        s->owed[n->out[o]->id] = owed;
    }
    s->around[n->id] = s->dims[n->id] | through;
}

/* Connected elementwise work is fused, so it is one part; scalars do not connect.  A block belongs
 * to its owner's part, except where it is known how often it is computed: then its nodes are like others. */
static void tie(sorting *s, const node *n, const node *owner)
{
    if (owner) join(s, n, owner);
    if (n->op == &op_loop && !owner) return;
    for (int i = 0; i < n->nin && !is_product(s, n); i++) {
        const mtf_tensor *x = same(s, n->in[i]);
        if (!is_product(s, x->node) && sorting_dims(s->p->space, x)) join(s, n, x->node);
    }
    for (int b = 0; n->op->blocks && n->op->blocks[b]; b++)
        for (int k = 0; k < n->blocks[b]->nnodes; k++) {
            const node *inner = n->blocks[b]->nodes[k];
            if (!s->survey->live[inner->id]) continue;
            look_at(s, inner);
            tie(s, inner, n);
        }
}

static void widen(sorting *s, const block *b)
{
    for (int k = 0; k < b->nnodes; k++) {
        const node *n = b->nodes[k];
        if (n->op == &op_loop) {
            widen(s, n->blocks[0]);
            continue;
        }
        for (int i = 0; i < n->nin && s->survey->live[n->id]; i++) {
            const node *from = same(s, n->in[i])->node;
            uint64_t    its = s->around[from->id];
            if (s->owed[same(s, n->in[i])->id]) s->around[from->id] |= s->dims[n->id];
            if (is_product(s, n)) s->around[n->id] |= its;
        }
    }
}

static int part_with(parts *p, uint64_t scope)
{
    for (int k = 0; k < p->n; k++)
        if (p->list[k].scope == scope) return k;
    if (!arena_push(p->arena, p->list, p->n, p->room)) return -1;
    p->list[p->n] = (part){.scope = scope};
    return p->n++;
}

/* Parts that depend on the same dimensions are one.  The cost of a product depends on its
 * surroundings; of other nodes only the cost of collectives does. */
static bool number_parts(sorting *s, const mtf_graph *g)
{
    uint64_t *scope = arena_array(s->scratch, uint64_t, g->nnodes + 1);
    TRY(scope != NULL);
    for (int k = 0; k < g->nnodes; k++)
        scope[leader_of(s, k)] |= s->flops[k] > 0 ? s->around[k] : s->dims[k];
    for (int k = 0; k < g->nnodes; k++) {
        s->p->of_node[k] = part_with(s->p, scope[leader_of(s, k)]);
        s->p->of_wire[k] = part_with(s->p, s->around[k]);
        TRY(s->p->of_node[k] >= 0 && s->p->of_wire[k] >= 0);
    }
    s->p->everything =
        part_with(s->p, ~(uint64_t)0 >> (63 - (s->p->space->ndims ? s->p->space->ndims - 1 : 0)));
    return s->p->everything >= 0;
}

/* ---- making ---- */

static bool make_tables(sorting *s)
{
    parts     *p = s->p;
    mtf_graph *g = p->subject->graph;
    arena     *a = s->scratch;
    s->flops = arena_array(a, double, g->nnodes + 1);
    s->dims = arena_array(a, uint64_t, g->nnodes + 1);
    s->around = arena_array(a, uint64_t, g->nnodes + 1);
    s->owed = arena_array(a, uint64_t, g->ntensors + 1);
    s->leader = arena_array(a, int, g->nnodes + 1);
    s->trips = arena_array(a, double, g->nnodes + 1);
    p->of_node = arena_array(p->arena, int, g->nnodes + 1);
    p->of_wire = arena_array(p->arena, int, g->nnodes + 1);
    return s->flops && s->dims && s->around && s->owed && s->leader && s->trips && p->of_node &&
           p->of_wire;
}

static void count_trips(sorting *s, const block *b, double trips)
{
    for (int k = 0; k < b->nnodes; k++) {
        const node *n = b->nodes[k];
        s->trips[n->id] = trips;
        if (n->op == &op_loop) count_trips(s, n->blocks[0], trips * (double)n->attrs[0].i);
    }
}

static void sort_block(sorting *s, const block *b)
{
    for (int k = 0; k < b->nnodes; k++) {
        const node *n = b->nodes[k];
        if (!s->survey->live[n->id]) continue;
        if (n->op == &op_loop) sort_block(s, n->blocks[0]);
        look_at(s, n);
        tie(s, n, NULL);
    }
}

static bool sort_nodes(sorting *s, const program *uncut, const price_rates *r)
{
    const subject *what = s->p->subject;
    const block   *root = &what->graph->root;
    TRY(make_tables(s));
    count_trips(s, root, 1);
    s->touched = touched_by_state(s->survey, s->scratch);
    TRY(s->touched != NULL);
    sorting_note_products(s, uncut, r);
    for (int k = 0; k < what->graph->nnodes; k++) s->leader[k] = k;
    sort_block(s, root);
    widen(s, root);
    return number_parts(s, what->graph) && sorting_add_least(s, uncut, r);
}

bool parts_make(parts *p, const space *s, const subject *what, const price_rates *r, arena *a)
{
    enum { COSTS = 1 << 10 };
    mtf_session *session = what->graph->session;
    *p = (parts){.space = s, .subject = what, .arena = a, .mask = COSTS - 1};
    p->costs = arena_array(a, part_cost, COSTS);
    p->divided.once = true;
    p->products.alone = p->divided.alone = p->firm.alone = p->loose.alone = r->alone;
    TRY(p->costs != NULL);
    arena    scratch = arena_make(&session->allocator, &session->fault);
    sorting  nodes = {.p = p, .survey = &what->survey, .scratch = &scratch};
    program *uncut = plan_program(what->graph, what->nfetches, what->fetches, NULL);
    bool     ok = uncut && sort_nodes(&nodes, uncut, r);
    program_free(uncut);
    arena_free(&scratch);
    return ok;
}
