/* Kinds of processors: those that own parts of equal sizes do equal work. */
#include "plan/census.h"

#include <string.h>

#include "program/exchange.h"

/* A cut dimension of some tensor: what decides a processor's sizes. */
struct cut_dim {
    const axis_list *cut;
    int64_t          size;
};

/* A dimension of which an exchange gives unequal amounts. */
struct fetched {
    const exchange_args *how;
    int                  dim;
};

static bool note_cut_dim(census *c, const axis_list *cut, int64_t size)
{
    for (int k = 0; k < c->ndims; k++)
        if (cut_equal(c->dims[k].cut, cut) && c->dims[k].size == size) return true;
    TRY(arena_push(c->scratch, c->dims, c->ndims, c->dims_room));
    c->dims[c->ndims++] = (struct cut_dim){cut, size};
    return true;
}

static bool list_cut_dims(census *c)
{
    const layout *l = c->opts.layout;
    for (int i = 0; i < c->graph->ntensors; i++) {
        const mtf_shape *shape = &c->graph->all[i]->shape;
        for (int d = 0; d < shape->ndims; d++) {
            const layout_rule *r = layout_find(l, shape->dims[d].name);
            if (r) TRY(note_cut_dim(c, &r->cut, shape->dims[d].size));
        }
    }
    return true;
}

program *census_plan(const census *c, int number, bool count)
{
    plan_opts how = c->opts;
    how.here = mesh_place(c->mesh, number);
    how.count = count;
    return plan_program(c->graph, c->nfetches, c->fetches, &how);
}

/* Where state is stored finer than the layout says. */
static bool list_finer(census *c)
{
    for (int v = 0; v < c->sample->nvariables; v++) {
        const port *x = &c->sample->variables[v];
        for (int d = 0; x->slice.finer && d < x->tensor->shape.ndims; d++)
            TRY(note_cut_dim(c, &x->slice.finer->dim[d], x->tensor->shape.dims[d].size));
    }
    return true;
}

/* Exchanges may go through cuts that no rule of the layout has, and fetch unequal amounts. */
static bool list_fetched(census *c)
{
    TRY(list_finer(c));
    for (int k = 0; k < c->sample->ninstrs; k++) {
        const instr *i = &c->sample->instrs[k];
        if (i->kind == INSTR_REDUCE_SCATTER)
            TRY(note_cut_dim(c, &i->reduce_scatter.to, i->reduce_scatter.size));
        for (int d = 0; i->kind == INSTR_EXCHANGE && d < i->exchange->shape.ndims; d++) {
            const exchange_args *how = i->exchange;
            if (how->from.dim[d].n)
                TRY(note_cut_dim(c, &how->from.dim[d], how->shape.dims[d].size));
            if (!(how->mapped >> d & 1)) continue;
            TRY(arena_push(c->scratch, c->fetched, c->nfetched, c->fetched_room));
            c->fetched[c->nfetched++] = (struct fetched){how, d};
        }
    }
    return true;
}

static int key_length(const census *c)
{
    return c->ndims + c->mesh->naxes + (int)sizeof(int) + c->nfetched * (int)sizeof(int64_t);
}

static void write_key(const census *c, int number, uint8_t *key)
{
    const mesh *m = c->mesh;
    mesh_point  here = mesh_place(m, number);
    for (int d = 0; d < c->ndims; d++) {
        int parts = cut_parts(m, c->dims[d].cut);
        *key++ =
            cut_range(m, c->dims[d].cut, &here, c->dims[d].size).size > c->dims[d].size / parts;
    }
    for (int a = 0; a < m->naxes; a++)
        *key++ = (uint8_t)(!(c->edges >> a & 1) || here.at[a] == 0 ? 0
                           : here.at[a] == m->size[a] - 1          ? 2
                                                                   : 1);
    int own = c->each ? number : 0;
    memcpy(key, &own, sizeof own);
    key += sizeof own;
    for (int k = 0; k < c->nfetched; k++, key += sizeof(int64_t)) {
        int64_t amount = exchange_wanted(m, c->fetched[k].how, c->fetched[k].dim, &here).size;
        memcpy(key, &amount, sizeof amount);
    }
}

bool census_take(census *c)
{
    int      length = key_length(c), newest = 0;
    uint8_t *key = arena_alloc(c->scratch, (size_t)length);
    c->next = arena_array(c->scratch, int, c->processors);
    c->nkinds = 0;
    TRY(key && c->next);
    for (int p = 0; p < c->processors; p++) {
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

/* Axes that cut a dimension along which some operation looks beyond its part. */
static unsigned axes_with_edges(const mtf_graph *g, const layout *l)
{
    unsigned axes = 0;
    for (int i = 0; i < g->ntensors; i++) {
        const mtf_tensor *x = g->all[i];
        const node       *n = x->node;
        for (int k = -1; k < n->nin && n->op->split; k++) {
            const mtf_shape *shape = k < 0 ? &x->shape : &n->in[k]->shape;
            for (int d = 0; d < shape->ndims; d++) {
                const layout_rule *r = layout_find(l, shape->dims[d].name);
                dim_split          s = r ? n->op->split(n, r->dim) : SPLIT_FREE;
                if (s == SPLIT_OWN || s == SPLIT_OWN_SUM) axes |= cut_axes(&r->cut);
            }
        }
    }
    return axes;
}

bool census_is_even(const census *c)
{
    for (int d = 0; d < c->ndims; d++)
        if (c->dims[d].size % cut_parts(c->mesh, c->dims[d].cut)) return false;
    return c->nfetched == 0 && c->edges == 0;
}

bool census_open(census *c)
{
    c->processors = mesh_size(c->mesh);
    if (!c->sample) c->sample = census_plan(c, c->processors - 1, false);
    TRY(c->sample && list_cut_dims(c) && list_fetched(c));
    c->edges = axes_with_edges(c->graph, c->opts.layout);
    return true;
}
