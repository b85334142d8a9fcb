/* The search space: the axes that cut each dimension. */
#include "search/space.h"

#include <string.h>

#include "ops/state.h"

typedef struct named {
    const char *name;
    int64_t     size;
    double      largest;
} named;

typedef struct roll {
    named *list;
    int    n, room;
} roll;

static bool note_dim(roll *r, arena *a, mtf_dim dim, double elements)
{
    int k = 0;
    if (name_is_internal(dim.name)) return true; /* no rule can name it */
    while (k < r->n && r->list[k].name != dim.name) k++;
    if (k == r->n) {
        TRY(arena_push(a, r->list, r->n, r->room));
        r->list[r->n++] = (named){.name = dim.name};
    }
    if (dim.size > r->list[k].size) r->list[k].size = dim.size;
    if (elements > r->list[k].largest) r->list[k].largest = elements;
    return true;
}

/* Chooses the dimensions of the largest tensors, then sorts them by name. */
static void choose_dims(space *s, roll *r)
{
    for (int i = 1; i < r->n; i++)
        for (int k = i; k > 0 && r->list[k].largest > r->list[k - 1].largest; k--) {
            named other = r->list[k];
            r->list[k] = r->list[k - 1], r->list[k - 1] = other;
        }
    for (int i = 0; i < r->n; i++) {
        const named       *from = &r->list[i];
        const layout_rule *rule = layout_find(s->given, from->name);
        if (from->size < 2 && !rule) continue; /* nothing to cut */
        if (s->ndims == MAX_SEARCHED) {
            s->left_out++;
            continue;
        }
        int at = s->ndims++;
        for (; at > 0 && strcmp(s->dims[at - 1].name, from->name) > 0; at--)
            s->dims[at] = s->dims[at - 1];
        s->dims[at] = (search_dim){
            .name = from->name, .size = from->size, .largest = from->largest, .text = ""};
        s->dims[at].fixed = rule || !s->given->asks;
        if (rule) s->dims[at].cut = rule->cut, s->dims[at].text = rule->text;
    }
}

int space_find(const space *s, const char *dim)
{
    for (int d = 0; d < s->ndims; d++)
        if (s->dims[d].name == dim || strcmp(s->dims[d].name, dim) == 0) return d;
    return -1;
}

static void set_apart(space *s, const mtf_shape *shape)
{
    uint64_t together = 0;
    for (int d = 0; d < shape->ndims; d++) {
        int at = space_find(s, shape->dims[d].name);
        if (at >= 0) together |= (uint64_t)1 << at;
    }
    for (int d = 0; d < s->ndims; d++)
        if (together >> d & 1) s->dims[d].apart |= together;
}

bool space_make(const mtf_graph *g, const bool *live, const layout *given, arena *a, space *s)
{
    roll r = {0};
    *s = (space){.mesh = given->mesh, .given = given};
    for (int x = 0; x < s->mesh->naxes; x++)
        if (s->mesh->size[x] > 1) s->axes |= 1u << x;
    for (int i = 0; i < g->ntensors; i++) {
        const mtf_tensor *x = g->all[i];
        if (!live[x->node->id]) continue;
        for (int d = 0; d < x->shape.ndims; d++)
            TRY(note_dim(&r, a, x->shape.dims[d], (double)shape_size(&x->shape)));
    }
    choose_dims(s, &r);
    for (int i = 0; i < g->ntensors; i++)
        if (live[g->all[i]->node->id] || variable_is(g->all[i]->node)) /* variables always exist */
            set_apart(s, &g->all[i]->shape);
    return true;
}

bool space_allows(const space *s, const cuts *c, uint64_t decided, int d, unsigned axes)
{
    uint64_t others = s->dims[d].apart & decided & ~((uint64_t)1 << d);
    for (int k = 0; others >> k; k++)
        if (others >> k & 1 && c->of[k] & axes) return false;
    return true;
}

/* Axes that cut one dimension together do so in the order of the mesh: they cannot be exchanged. */
static bool cut_together(const space *s, const cuts *c, int a, int b)
{
    for (int d = 0; d < s->ndims; d++)
        if (c->of[d] >> a & c->of[d] >> b & 1) return true;
    return false;
}

/* The first pair of which the later axis cuts an earlier dimension; -1: none. */
static int find_uncanonical(const space *s, const symmetry *y, const cuts *c)
{
    for (int p = 0; p < y->n; p++) {
        int d = 0;
        if (cut_together(s, c, y->a[p], y->b[p])) continue;
        while (d < s->ndims && !((c->of[d] >> y->a[p] ^ c->of[d] >> y->b[p]) & 1)) d++;
        if (d < s->ndims && c->of[d] >> y->b[p] & 1) return p;
    }
    return -1;
}

bool space_is_canonical(const space *s, const symmetry *y, const cuts *c)
{
    return find_uncanonical(s, y, c) < 0;
}

void space_swap(const space *s, int a, int b, cuts *c)
{
    for (int d = 0; d < s->ndims; d++) {
        unsigned was = c->of[d], differ = (was >> a ^ was >> b) & 1;
        c->of[d] = (uint8_t)(was ^ (differ << a | differ << b));
    }
}

void space_make_canonical(const space *s, const symmetry *y, cuts *c)
{
    for (int p; (p = find_uncanonical(s, y, c)) >= 0;) space_swap(s, y->a[p], y->b[p], c);
}

/* how many dimensions are cut */
static int cuts_rules(const space *s, const cuts *c)
{
    int n = 0;
    for (int d = 0; d < s->ndims; d++) n += c->of[d] != 0;
    return n;
}

bool cuts_before(const space *s, const cuts *a, const cuts *b)
{
    int na = cuts_rules(s, a), nb = cuts_rules(s, b);
    if (na != nb) return na < nb;
    for (int d = 0; d < s->ndims; d++) {
        if (a->of[d] == b->of[d]) continue;
        if (!a->of[d] || !b->of[d]) return a->of[d] != 0; /* earlier names come first */
        return a->of[d] < b->of[d];
    }
    return false;
}

static bool write_rule(const mesh *m, layout_rule *r, arena *texts)
{
    textbuf t = {.arena = texts};
    text_add(&t, "%s", r->dim);
    for (int k = 0; k < r->cut.n; k++) text_add(&t, "%s%s", k ? "+" : ":", m->name[r->cut.axis[k]]);
    r->text = text_done(&t);
    return r->text != NULL;
}

bool space_layout(const space *s, const cuts *c, layout_rule *rules, arena *texts, layout *l)
{
    *l = (layout){
        .mesh = s->mesh, .rules = rules, .nstate = s->given->nstate, .state = s->given->state};
    for (int k = 0; k < s->given->nrules; k++) /* dimensions that no live tensor has, too */
        if (space_find(s, s->given->rules[k].dim) < 0) rules[l->nrules++] = s->given->rules[k];
    for (int d = 0; d < s->ndims; d++) {
        if (!c->of[d]) continue;
        layout_rule *r = &rules[l->nrules++];
        *r = (layout_rule){.dim = s->dims[d].name, .text = s->dims[d].text};
        if (s->dims[d].fixed)
            r->cut = s->dims[d].cut;
        else
            for (int a = 0; a < s->mesh->naxes; a++)
                if (c->of[d] >> a & 1) r->cut.axis[r->cut.n++] = (uint8_t)a;
        TRY(!texts || s->dims[d].fixed || write_rule(s->mesh, r, texts));
    }
    return true;
}
