/* Layouts to begin a search with: those that people write. */
#include "search/starts.h"

#include <string.h>

/* Data parallel, model parallel, and both; experts with the data, or whole at each part of it. */
static const char usual[] = "batch:data,experts:data,d_ff:model,heads:model,vocab:model,"
                            "hidden:model,batch:rows,batch_unsplit:rows";

enum { MOST_GROUPS = 6, MOST_STARTS = 256 };

typedef struct group {
    const char *axis; /* as the rules call it; not NUL-terminated */
    size_t      length;
    uint64_t    dims;
} group;

typedef struct groups {
    group list[MOST_GROUPS];
    int   n;
} groups;

static int find_dim(const space *s, const char *name, size_t length)
{
    for (int d = 0; d < s->ndims; d++)
        if (strlen(s->dims[d].name) == length && strncmp(s->dims[d].name, name, length) == 0)
            return d;
    return -1;
}

static const char ends[] = ",.; \t\n|", marks[] = "?!,.; \t\n|"; /* of a rule, and of its axes */

/* "d_ff:model+data": the dimension, and each of its axes in turn. */
typedef struct rule {
    int         dim;        /* -1: it is not searched */
    const char *axis, *end; /* the axes that are left */
} rule;

static rule read_rule(const space *s, const char *text, size_t length)
{
    const char *colon = memchr(text, ':', length);
    if (!colon) return (rule){.dim = -1};
    return (rule){.dim = find_dim(s, text, (size_t)(colon - text)),
                  .axis = colon + 1,
                  .end = colon + 1 + strcspn(colon + 1, marks)};
}

/* The next axis and its length; NULL: there is none. */
static const char *next_axis(rule *r, size_t *length)
{
    const char *axis = r->axis;
    if (r->dim < 0 || axis >= r->end) return NULL;
    *length = strcspn(axis, "+");
    if (axis + *length > r->end) *length = (size_t)(r->end - axis);
    r->axis += *length + 1;
    return axis;
}

/* The next rule of a set; false at its end. */
static bool next_rule(const char **text, size_t *length)
{
    *text += *length;
    *text += strspn(*text, ",.; \t\n");
    *length = strcspn(*text, ends);
    return *length > 0;
}

static const char *next_set(const char *text)
{
    text += strcspn(text, "|");
    return *text ? text + 1 : NULL;
}

/* Adds the dimension to the group of that axis; from `first` on, groups are of the same set. */
static void join_group(groups *g, int first, const char *axis, size_t length, int dim)
{
    int k = first;
    while (k < g->n && (g->list[k].length != length || strncmp(g->list[k].axis, axis, length) != 0))
        k++;
    if (k == MOST_GROUPS) return;
    if (k == g->n) g->list[g->n++] = (group){.axis = axis, .length = length};
    g->list[k].dims |= (uint64_t)1 << dim;
}

static void take_rules(const space *s, groups *g, const char *text)
{
    const char *axis;
    int         first = g->n;
    size_t      length = 0, n;
    while (next_rule(&text, &length)) {
        rule r = read_rule(s, text, length);
        if (r.dim >= 0 && s->dims[r.dim].fixed) continue;
        while ((axis = next_axis(&r, &n))) join_group(g, first, axis, n, r.dim);
    }
}

static bool is_there(const groups *g, int k)
{
    for (int j = 0; j < k; j++)
        if (g->list[j].dims == g->list[k].dims) return true;
    return false;
}

static void drop_equal(groups *g)
{
    int n = 0;
    for (int k = 0; k < g->n; k++)
        if (!is_there(g, k)) g->list[n++] = g->list[k];
    g->n = n;
}

/* Cuts the dimensions of a group that may still be cut along the axes. */
static void cut_group(const space *s, uint64_t dims, unsigned axes, cuts *c)
{
    for (int d = 0; d < s->ndims; d++)
        if (dims >> d & 1 && space_allows(s, c, EVERY_SEARCHED, d, axes)) c->of[d] |= (uint8_t)axes;
}

static cuts fixed_cuts(const space *s)
{
    cuts c = {0};
    for (int d = 0; d < s->ndims; d++)
        if (s->dims[d].fixed) c.of[d] = (uint8_t)cut_axes(&s->dims[d].cut);
    return c;
}

static unsigned find_axis(const mesh *m, const char *name, size_t length)
{
    for (int x = 0; x < m->naxes; x++)
        if (strlen(m->name[x]) == length && strncmp(m->name[x], name, length) == 0) return 1u << x;
    return 0;
}

/* The axes of a rule, as bits; 0 where the mesh lacks one of them. */
static unsigned axes_of(const space *s, rule r)
{
    unsigned    axes = 0, one;
    const char *axis;
    size_t      n;
    while ((axis = next_axis(&r, &n))) {
        if (!(one = find_axis(s->mesh, axis, n))) return 0;
        axes |= one;
    }
    return axes & s->axes;
}

/* A set of rules as it is written, without those for axes that the mesh lacks. */
static cuts cut_as_written(const space *s, const char *text)
{
    cuts   c = fixed_cuts(s);
    size_t length = 0;
    while (next_rule(&text, &length)) {
        rule     r = read_rule(s, text, length);
        unsigned axes = axes_of(s, r);
        if (r.dim >= 0 && axes && !s->dims[r.dim].fixed)
            cut_group(s, (uint64_t)1 << r.dim, axes, &c);
    }
    return c;
}

/* Gives each axis a group, or none: the digits of `way`. */
static cuts cut_groups(const space *s, const groups *g, int way)
{
    cuts c = fixed_cuts(s);
    for (int x = 0; x < s->mesh->naxes; x++) {
        if (!(s->axes >> x & 1)) continue;
        int k = way % (g->n + 1);
        way /= g->n + 1;
        if (k > 0) cut_group(s, g->list[k - 1].dims, 1u << x, &c);
    }
    return c;
}

bool starts_list(const space *s, const char *rules, arena *a, cuts **list, int *n)
{
    groups g = {0};
    int    ways = 1, room = 0;
    *list = NULL;
    *n = 0;
    for (const char *set = rules; set; set = next_set(set)) {
        take_rules(s, &g, set);
        TRY(arena_push(a, *list, *n, room));
        (*list)[(*n)++] = cut_as_written(s, set);
    }
    take_rules(s, &g, usual);
    drop_equal(&g);
    for (int x = 0; x < s->mesh->naxes; x++)
        if (s->axes >> x & 1) ways = ways * (g.n + 1) > MOST_STARTS ? ways : ways * (g.n + 1);
    for (int way = 1; way < ways; way++) {
        TRY(arena_push(a, *list, *n, room));
        (*list)[(*n)++] = cut_groups(s, &g, way);
    }
    return true;
}
