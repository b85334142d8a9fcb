/* Layouts to begin a search with: those that people write. */
#include "search/starts.h"

#include <string.h>

/* Data parallel, model parallel, and both. */
static const char usual[] = "batch:data,experts:data,d_ff:model,heads:model,vocab:model,hidden:model";

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
        if (strlen(s->dims[d].name) == length && strncmp(s->dims[d].name, name, length) == 0) return d;
    return -1;
}

/* "d_ff:model" adds d_ff to the group "model"; from `first` on, groups are of the same text. */
static void take_rule(const space *s, groups *g, int first, const char *rule, size_t length)
{
    const char *colon = memchr(rule, ':', length);
    if (!colon) return;
    int    d = find_dim(s, rule, (size_t)(colon - rule)), k = first;
    size_t rest = strcspn(colon + 1, "?!,.; \t\n");
    if (d < 0 || s->dims[d].fixed) return;
    while (k < g->n && (g->list[k].length != rest || strncmp(g->list[k].axis, colon + 1, rest) != 0)) k++;
    if (k == MOST_GROUPS) return;
    if (k == g->n) g->list[g->n++] = (group){.axis = colon + 1, .length = rest};
    g->list[k].dims |= (uint64_t)1 << d;
}

static void take_rules(const space *s, groups *g, const char *text)
{
    int first = g->n;
    for (const char *p = text; p && *p;) {
        p += strspn(p, ",.; \t\n");
        size_t length = strcspn(p, ",.; \t\n");
        take_rule(s, g, first, p, length);
        p += length;
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

/* Cuts the dimensions of a group that may still be cut along the axis. */
static void cut_group(const space *s, uint64_t dims, unsigned axis, cuts *c)
{
    for (int d = 0; d < s->ndims; d++)
        if (dims >> d & 1 && space_allows(s, c, EVERY_SEARCHED, d, axis)) c->of[d] |= (uint8_t)axis;
}

bool starts_list(const space *s, const char *rules, arena *a, cuts **list, int *n)
{
    groups g = {0};
    int    ways = 1, room = 0;
    *list = NULL;
    *n = 0;
    take_rules(s, &g, rules);
    take_rules(s, &g, usual);
    drop_equal(&g);
    for (int x = 0; x < s->mesh->naxes; x++)
        if (s->axes >> x & 1) ways = ways * (g.n + 1) > MOST_STARTS ? ways : ways * (g.n + 1);
    for (int way = 1; way < ways; way++) {
        cuts c = {0};
        int  rest = way;
        for (int d = 0; d < s->ndims; d++)
            if (s->dims[d].fixed) c.of[d] = (uint8_t)cut_axes(&s->dims[d].cut);
        for (int x = 0; x < s->mesh->naxes; x++) {
            if (!(s->axes >> x & 1)) continue;
            int k = rest % (g.n + 1);
            rest /= g.n + 1;
            if (k > 0) cut_group(s, g.list[k - 1].dims, 1u << x, &c);
        }
        TRY(arena_push(a, *list, *n, room));
        (*list)[(*n)++] = c;
    }
    return true;
}
