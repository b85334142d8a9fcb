/* Sizes that operations relate, and the smallest ones that keep the relations. */
#include "verify/relations.h"

#include <string.h>

enum { UNCUT_ODD = 3, UNCUT_EVEN = 4, FACTORS = 6, MOST_MADE = 64, MOST_DEPTH = 8 };
enum { MOST_DOUBLED = 16 }; /* parts that have two elements; of more parts each has one */

/* A variable that is the product of others, or the sum of two less one. */
typedef struct made {
    int  whole;
    int  n, factor[FACTORS];
    bool distances; /* factor[0] + factor[1] - 1, not a product */
} made;

struct relations {
    const layout *layout;
    int           n;    /* variables */
    const char  **name; /* by variable */
    int64_t      *size;
    int64_t      *now;  /* working space */
    int          *same; /* by variable: another of its set, closer to the one that represents it */
    int           nmade;
    made          made[MOST_MADE];
};

/* ---- sizes ---- */

int64_t relations_parts(const layout *l, const char *name)
{
    const layout_rule *rule = l ? layout_find(l, name) : NULL;
    int64_t            parts = rule ? cut_parts(l->mesh, &rule->cut) : 1;
    for (int k = 0; l && k < l->nstate; k++)
        if (strcmp(l->state[k].dim, name) == 0) parts *= cut_parts(l->mesh, &l->state[k].cut);
    return parts;
}

int64_t relations_target(const layout *l, const char *name, int64_t size)
{
    int64_t parts = relations_parts(l, name);
    int64_t small = parts == 1          ? (size % 2 ? UNCUT_ODD : UNCUT_EVEN)
                    : size % parts == 0 ? (parts > MOST_DOUBLED ? parts : 2 * parts)
                                        : parts + size % parts;
    return small < size ? small : size;
}

/* Is `size` cut as evenly as the variable's own size? */
static bool is_cut_alike(const relations *r, int variable, int64_t size)
{
    int64_t parts = relations_parts(r->layout, r->name[variable]);
    return (size % parts == 0) == (r->size[variable] % parts == 0);
}

/* ---- sets of equal variables ---- */

static int set_of(const relations *r, int variable)
{
    while (r->same[variable] != variable) variable = r->same[variable];
    return variable;
}

static int find_dim(const relations *r, mtf_dim d)
{
    for (int k = 0; k < r->n; k++)
        if (r->size[k] == d.size && strcmp(r->name[k], d.name) == 0) return k;
    return -1;
}

/* The smallest size at which every variable of the set is cut as it is now. */
static int64_t target_of_set(const relations *r, int set)
{
    int64_t least = 1;
    for (int k = 0; k < r->n; k++) {
        if (set_of(r, k) != set) continue;
        int64_t small = relations_target(r->layout, r->name[k], r->size[k]);
        if (small > least) least = small;
    }
    for (int64_t size = least; size < r->size[set]; size++) {
        bool fits = true;
        for (int k = 0; k < r->n && fits; k++)
            fits = set_of(r, k) != set || is_cut_alike(r, k, size);
        if (fits) return size;
    }
    return r->size[set];
}

/* ---- what operations relate ---- */

static void note_made(relations *r, made m)
{
    m.whole = set_of(r, m.whole);
    for (int k = 0; k < m.n; k++) {
        if (m.factor[k] < 0) return;
        m.factor[k] = set_of(r, m.factor[k]);
        if (m.factor[k] == m.whole) return;
    }
    for (int k = 0; k < r->nmade; k++)
        if (r->made[k].whole == m.whole) return;
    if (r->nmade < MOST_MADE) r->made[r->nmade++] = m;
}

/* The dimensions that only one of two shapes has, as variables. */
static int list_own(const relations *r, const mtf_shape *a, const mtf_shape *b, int *own)
{
    int n = 0;
    for (int k = 0; k < a->ndims; k++) {
        int at = shape_find(b, a->dims[k].name);
        if (at < 0 || b->dims[at].size != a->dims[k].size) own[n++] = find_dim(r, a->dims[k]);
    }
    return n;
}

/* A reshape keeps the number of elements; dimensions of equal size are renamed. */
static void relate_reshape(relations *r, const mtf_shape *in, const mtf_shape *out, bool equal)
{
    int from[MTF_SHAPE_ROOM], to[MTF_SHAPE_ROOM];
    int n = list_own(r, in, out, from), m = list_own(r, out, in, to);
    for (int a = 0; a < n; a++)
        for (int b = 0; b < m; b++) {
            if (from[a] < 0 || to[b] < 0 || r->size[from[a]] != r->size[to[b]]) continue;
            if (equal) r->same[set_of(r, from[a])] = set_of(r, to[b]);
            from[a] = from[--n];
            to[b] = to[--m];
            a--;
            break;
        }
    if (equal || n < 1 || m < 1 || (n > 1 && m > 1)) return;
    made product = {.whole = n == 1 ? from[0] : to[0], .n = n == 1 ? m : n};
    if (product.whole < 0 || product.n > FACTORS) return;
    for (int k = 0; k < product.n; k++) product.factor[k] = n == 1 ? to[k] : from[k];
    note_made(r, product);
}

/* A bias by distance has one element for each distance between a query and a position. */
static void relate_distances(relations *r, const node *n)
{
    int at = op_attr_find(n->op, "bias_relative"), query = op_attr_find(n->op, "query"),
        memory = op_attr_find(n->op, "memory");
    if (at < 0 || !n->attrs[at].text || !*n->attrs[at].text) return;
    made m = {.whole = -1, .n = 2, .factor = {-1, -1}, .distances = true};
    for (int i = 0; i < n->nargs; i++) {
        const mtf_shape *s = &n->in[i]->shape;
        int              d = shape_find(s, n->attrs[at].text);
        if (d >= 0) m.whole = find_dim(r, s->dims[d]);
    }
    int q = shape_find(&n->in[0]->shape, n->attrs[query].text),
        k = shape_find(&n->in[1]->shape, n->attrs[memory].text);
    if (m.whole < 0 || q < 0 || k < 0) return;
    m.factor[0] = find_dim(r, n->in[0]->shape.dims[q]);
    m.factor[1] = find_dim(r, n->in[1]->shape.dims[k]);
    note_made(r, m);
}

/* Equal ones first, since products are made of sets. */
static void relate(relations *r, const mtf_graph *g)
{
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < g->ntensors; t++) {
            const node *n = g->all[t]->node;
            if (g->all[t]->index != 0 || n->nargs < 1) continue;
            if (n->op->flags & OP_REGROUPS)
                relate_reshape(r, &n->in[0]->shape, &n->out[0]->shape, pass == 0);
            else if (pass == 1)
                relate_distances(r, n);
        }
}

relations *relations_find(const mtf_graph *g, const layout *l, const resize_rules *rules, arena *a)
{
    relations *r = arena_new(a, relations);
    if (!r) return NULL;
    r->layout = l;
    r->n = rules->n;
    r->name = arena_array(a, const char *, r->n + 1);
    r->size = arena_array(a, int64_t, r->n + 1);
    r->now = arena_array(a, int64_t, r->n + 1);
    r->same = arena_array(a, int, r->n + 1);
    if (!r->name || !r->size || !r->now || !r->same) return NULL;
    for (int k = 0; k < r->n; k++) {
        r->name[k] = rules->list[k].name;
        r->size[k] = rules->list[k].from;
        r->same[k] = k;
    }
    relate(r, g);
    return r;
}

/* ---- shrinking ---- */

static const made *how_made(const relations *r, int set)
{
    for (int k = 0; k < r->nmade; k++)
        if (r->made[k].whole == set) return &r->made[k];
    return NULL;
}

/* The variable that represents free set `number`. */
static int nth_free(const relations *r, int number)
{
    for (int k = 0; k < r->n; k++)
        if (set_of(r, k) == k && !how_made(r, k) && number-- == 0) return k;
    return -1;
}

int relations_free(const relations *r)
{
    int n = 0;
    while (nth_free(r, n) >= 0) n++;
    return n;
}

/* The size that a set has now, if set `only` (-1: every free one) becomes small. */
static int64_t size_now(const relations *r, int set, int only, const resize_rules *rules, int depth)
{
    const made *m = how_made(r, set);
    int64_t     size = m && !m->distances ? 1 : m ? -1 : 0;
    if (!m || depth > MOST_DEPTH)
        return only < 0 || only == set ? target_of_set(r, set) : rules->list[set].to;
    for (int k = 0; k < m->n; k++) {
        int64_t more = size_now(r, m->factor[k], only, rules, depth + 1);
        size = m->distances ? size + more : size * more;
    }
    return size;
}

void relations_shrink(const relations *r, int number, resize_rules *rules)
{
    int only = number < 0 ? -1 : nth_free(r, number);
    for (int k = 0; k < r->n; k++) r->now[k] = size_now(r, set_of(r, k), only, rules, 0);
    for (int k = 0; k < r->n; k++) rules->list[k].to = r->now[k];
}
