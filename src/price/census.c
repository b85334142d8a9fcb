/* Kinds of processors: equal part sizes mean equal work. */
#include "price/census.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "price/representatives.h"
#include "program/exchange.h"

/* A cut dimension of some tensor: it determines a processor's sizes. */
struct cut_dim {
    const axis_list *cut;
    int64_t          size;
};

/* A dimension of which processors fetch unequal amounts in an exchange. */
struct fetched {
    const exchange_args *how;
    int                  dim;
};

/* Equal parts do not distinguish processors. */
static bool note_cut_dim(census *c, const axis_list *cut, int64_t size)
{
    if (size % cut_parts(c->mesh, cut) == 0) return true;
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

program *census_plan(const census *c, int number)
{
    plan_opts how = c->opts;
    how.here = mesh_place(c->mesh, number);
    how.draft = true;
    how.survey = &c->survey;
    return plan_program(c->graph, c->nfetches, c->fetches, &how);
}

/* Lists dimensions of state that is stored finer than the layout says. */
static bool list_finer(census *c)
{
    for (int v = 0; v < c->sample->nvariables; v++) {
        const port *x = &c->sample->variables[v];
        for (int d = 0; x->slice.finer && d < x->tensor->shape.ndims; d++)
            TRY(note_cut_dim(c, &x->slice.finer->dim[d], x->tensor->shape.dims[d].size));
    }
    return true;
}

static bool asks_alike(const struct fetched *f, const exchange_args *how, int d)
{
    const span_map *a = &f->how->map[f->dim], *b = &how->map[d];
    return f->how->shape.dims[f->dim].size == how->shape.dims[d].size &&
           cut_equal(&a->cut, &b->cut) && a->size == b->size && a->mult == b->mult &&
           a->low == b->low && a->high == b->high && a->div == b->div;
}

/* Equal layers fetch alike. */
static bool note_fetched(census *c, const exchange_args *how, int d)
{
    for (int k = 0; k < c->nfetched; k++)
        if (asks_alike(&c->fetched[k], how, d)) return true;
    TRY(arena_push(c->scratch, c->fetched, c->nfetched, c->fetched_room));
    c->fetched[c->nfetched++] = (struct fetched){how, d};
    return true;
}

/* Exchanges may use cuts that no rule of the layout has, and fetch unequal amounts. */
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
            if (how->mapped >> d & 1) TRY(note_fetched(c, how, d));
        }
    }
    return true;
}

/* ---- axes that must be considered together ---- */

/* Positions along a set of axes at which processors do equal work. */
typedef struct axis_class {
    int      lowest, highest, other; /* what these coordinates add to a processor's number */
    int      count;
    uint8_t *key;
} axis_class;

typedef struct axis_set {
    unsigned    axes;
    axis_list   list;
    axis_class *classes;
    int         nclasses, room;
    int         taken; /* of the classes: where there are too many kinds, these stand for all */
} axis_set;

static unsigned axes_of_fetched(const struct fetched *f)
{
    return cut_axes(exchange_cut(f->how, f->dim));
}

/* Adds all sets of axes that overlap with this one. */
static unsigned joined_axes(const census *c, unsigned axes)
{
    for (unsigned before = 0; before != axes;) {
        before = axes;
        for (int d = 0; d < c->ndims; d++)
            if (cut_axes(c->dims[d].cut) & axes) axes |= cut_axes(c->dims[d].cut);
        for (int k = 0; k < c->nfetched; k++)
            if (axes_of_fetched(&c->fetched[k]) & axes) axes |= axes_of_fetched(&c->fetched[k]);
    }
    return axes;
}

/* Returns the length of the key; `key` may be NULL. */
static int write_key(const census *c, const axis_set *s, const mesh_point *here, uint8_t *key)
{
    const mesh *m = c->mesh;
    int         n = 0;
    for (int d = 0; d < c->ndims; d++) {
        const struct cut_dim *x = &c->dims[d];
        if (!(cut_axes(x->cut) & s->axes)) continue;
        if (key) key[n] = cut_range(m, x->cut, here, x->size).size > x->size / cut_parts(m, x->cut);
        n++;
    }
    for (int a = 0; a < m->naxes; a++) {
        if (!(s->axes & c->edges & 1u << a)) continue;
        if (key) key[n] = here->at[a] == 0 ? 0 : here->at[a] == m->size[a] - 1 ? 2 : 1;
        n++;
    }
    for (int a = 0; a < m->naxes; a++) {
        if (!(s->axes & c->distinct & 1u << a)) continue;
        if (key) memcpy(key + n, &here->at[a], sizeof here->at[a]);
        n += (int)sizeof here->at[a];
    }
    for (int k = 0; k < c->nfetched; k++) {
        if (!(axes_of_fetched(&c->fetched[k]) & s->axes)) continue;
        int64_t amount = exchange_wanted(m, c->fetched[k].how, c->fetched[k].dim, here).size;
        if (key) memcpy(key + n, &amount, sizeof amount);
        n += (int)sizeof amount;
    }
    return n;
}

static bool add_position(census *c, axis_set *s, int number, const uint8_t *key, int length)
{
    int k = s->nclasses - 1; /* neighbours are usually in the same class */
    if (k < 0 || memcmp(s->classes[k].key, key, (size_t)length) != 0)
        for (k = 0; k < s->nclasses && memcmp(s->classes[k].key, key, (size_t)length) != 0; k++)
            continue;
    if (k == s->nclasses) {
        TRY(arena_push(c->scratch, s->classes, s->nclasses, s->room));
        s->classes[s->nclasses++] =
            (axis_class){.lowest = number, .key = arena_copy(c->scratch, key, (size_t)length)};
        TRY(s->classes[k].key != NULL);
    }
    axis_class *x = &s->classes[k];
    x->count++;
    if ((x->count & (x->count - 1)) == 0) x->other = number; /* finally in the second half */
    x->highest = number;
    return true;
}

/* Numbers increase with positions, because the list has the axes in the mesh's order. */
static bool classify(census *c, axis_set *s)
{
    mesh_point here = {0};
    int        length = write_key(c, s, &here, NULL);
    uint8_t   *key = arena_alloc(c->scratch, (size_t)length + 1);
    TRY(key != NULL);
    for (int a = 0; a < c->mesh->naxes; a++)
        if (s->axes >> a & 1) s->list.axis[s->list.n++] = (uint8_t)a;
    int parts = cut_parts(c->mesh, &s->list);
    for (int k = 0; k < parts; k++) {
        cut_set_part(c->mesh, &s->list, k, &here);
        write_key(c, s, &here, key);
        TRY(add_position(c, s, mesh_number(c->mesh, &here), key, length));
    }
    return true;
}

/* All positions along axes that do not distinguish processors. */
static bool count_alike(census *c, axis_set *s)
{
    mesh_point last = {0};
    TRY(arena_push(c->scratch, s->classes, s->nclasses, s->room));
    axis_class *x = &s->classes[s->nclasses++];
    *x = (axis_class){.count = 1};
    for (int a = 0; a < c->mesh->naxes; a++) {
        if (!(s->axes >> a & 1)) continue;
        x->count *= c->mesh->size[a];
        last.at[a] = c->mesh->size[a] - 1;
    }
    x->highest = mesh_number(c->mesh, &last);
    for (int a = 0; a < c->mesh->naxes; a++) last.at[a] /= 2;
    x->other = mesh_number(c->mesh, &last);
    return true;
}

/* ---- kinds ---- */

/* Classes are in the order of their first positions, so that neighbours differ least. */
static bool take_some(census *c, axis_set *s)
{
    int *count = arena_array(c->scratch, int, s->nclasses + 1),
        *share = arena_array(c->scratch, int, s->taken + 1);
    TRY(count && share);
    for (int k = 0; k < s->nclasses; k++) count[k] = s->classes[k].count;
    sample_share(s->nclasses, s->taken, count, share);
    for (int k = 0; k < s->taken; k++) {
        s->classes[k] = s->classes[sample_place(s->nclasses, s->taken, k)];
        s->classes[k].count = share[k];
    }
    return true;
}

/* Of the set with most classes fewer are taken, until their combinations are not too many. */
static void limit_kinds(census *c, axis_set *sets, int n)
{
    assert(c->most >= 0);
    for (;;) {
        int64_t all = 1;
        int     most = 0;
        for (int k = 0; k < n; k++) {
            all = saturate_times(all, sets[k].taken);
            if (sets[k].taken > sets[most].taken) most = k;
        }
        if (!c->most || all <= c->most || sets[most].taken <= SAMPLE_LEAST) return;
        sets[most].taken--;
        c->sampled = true;
    }
}

/* Combines every kind so far with every class of the set. */
static bool combine_with(census *c, const axis_set *s)
{
    kind *before = c->kinds;
    int   n = c->nkinds;
    c->kinds = NULL;
    c->nkinds = c->kinds_room = 0;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < s->taken; j++) {
            const axis_class *x = &s->classes[j];
            TRY(arena_push(c->scratch, c->kinds, c->nkinds, c->kinds_room));
            c->kinds[c->nkinds++] = (kind){.first = before[k].first + x->lowest,
                                           .last = before[k].last + x->highest,
                                           .other = before[k].other + x->other,
                                           .count = before[k].count * x->count};
        }
    return true;
}

static int by_first(const void *a, const void *b)
{
    return ((const kind *)a)->first - ((const kind *)b)->first;
}

static bool take_each(census *c)
{
    c->kinds = arena_array(c->scratch, kind, c->processors);
    TRY(c->kinds != NULL);
    for (int p = 0; p < c->processors; p++) c->kinds[p] = (kind){p, p, p, 1};
    c->nkinds = c->processors;
    return true;
}

bool census_take(census *c)
{
    unsigned done = 0, told = c->edges | c->distinct;
    axis_set sets[MAX_AXES];
    int      nsets = 0;
    c->sampled = false;
    if (c->each) return take_each(c);
    c->kinds = arena_new(c->scratch, kind);
    TRY(c->kinds != NULL);
    c->kinds[0].count = c->nkinds = c->kinds_room = 1;
    for (int d = 0; d < c->ndims; d++) told |= cut_axes(c->dims[d].cut);
    for (int k = 0; k < c->nfetched; k++) told |= axes_of_fetched(&c->fetched[k]);
    for (int a = 0; a < c->mesh->naxes; a++) {
        axis_set s = {.axes = joined_axes(c, 1u << a)};
        if (done >> a & 1) continue;
        done |= s.axes;
        TRY(s.axes & told ? classify(c, &s) : count_alike(c, &s));
        s.taken = s.nclasses;
        sets[nsets++] = s;
    }
    limit_kinds(c, sets, nsets);
    for (int k = 0; k < nsets; k++) {
        if (sets[k].taken < sets[k].nclasses) TRY(take_some(c, &sets[k]));
        TRY(combine_with(c, &sets[k]));
    }
    assert(c->kinds != NULL); /* each set has a class */
    qsort(c->kinds, (size_t)c->nkinds, sizeof *c->kinds, by_first);
    return true;
}

/* Elements before one of dimension d and the next. */
static int64_t elements_outside(const mtf_shape *shape, int d)
{
    int64_t n = 1;
    for (int k = 0; k < d; k++) n *= shape->dims[k].size;
    return n;
}

/* Where the order of elements stays, equal parts of a dimension are the same elements before and
 * after: it begins at the same place, however the elements inside are grouped. */
static bool keeps_parts(const mesh *m, const node *n, const layout_rule *r)
{
    const mtf_shape *in = &n->in[0]->shape, *out = &n->out[0]->shape;
    int              a = shape_find(in, r->dim), b = shape_find(out, r->dim);
    int              parts = cut_parts(m, &r->cut);
    return a >= 0 && b >= 0 && in->dims[a].size % parts == 0 && out->dims[b].size % parts == 0 &&
           elements_outside(in, a) == elements_outside(out, b);
}

/* May the op do something else on the first or the last processor along the rule's axes? */
static bool has_edges(const mesh *m, const node *n, const layout_rule *r)
{
    dim_split s = n->op->split(n, r->dim);
    if (s != SPLIT_OWN && s != SPLIT_OWN_SUM) return false;
    return !(n->op->flags & OP_ALIKE) && !(n->op->flags & OP_REGROUPS && keeps_parts(m, n, r));
}

/* Axes that cut a dimension along which some operation needs elements beyond its part. */
static unsigned axes_with_edges(const mesh *m, const mtf_graph *g, const layout *l)
{
    unsigned axes = 0;
    for (int i = 0; i < g->ntensors; i++) {
        const mtf_tensor *x = g->all[i];
        const node       *n = x->node;
        for (int k = -1; k < n->nin && n->op->split; k++) {
            const mtf_shape *shape = k < 0 ? &x->shape : &n->in[k]->shape;
            for (int d = 0; d < shape->ndims; d++) {
                const layout_rule *r = layout_find(l, shape->dims[d].name);
                if (r && has_edges(m, n, r)) axes |= cut_axes(&r->cut);
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
    c->survey = (survey){.graph = c->graph, .scratch = c->scratch};
    if (c->opts.survey)
        c->survey = *c->opts.survey;
    else
        TRY(survey_make(&c->survey, c->nfetches, c->fetches));
    if (!c->sample) c->sample = census_plan(c, c->processors - 1);
    TRY(c->sample && list_cut_dims(c) && list_fetched(c));
    c->edges = axes_with_edges(c->mesh, c->graph, c->opts.layout);
    return true;
}
