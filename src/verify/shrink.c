/* A model with smaller dimensions: the same operations, quickly run.
 *
 * Which sizes the operations allow is found by trying: sizes are changed for one
 * name, or for a few that are related, and the graph is built again; where that
 * fails, the change is undone.
 */
#include "verify/shrink.h"

#include <string.h>

#include "microbatch/resize.h"
#include "search/subject.h"
#include "verify/relations.h"

enum { DIVISORS = 3, MOST_NAMES = 256, NAME_WORDS = MOST_NAMES / 64 };

typedef struct name_set {
    uint64_t word[NAME_WORDS];
} name_set;

typedef struct shrinking {
    const mtf_graph *graph;
    const layout    *layout;
    resize_rules     rules;
    const char      *names[MOST_NAMES];
    int64_t          largest[MOST_NAMES]; /* size in the graph */
    int              nnames;
    name_set         alike[MOST_NAMES];   /* names that operations give to the same dimension */
    name_set         related[MOST_NAMES]; /* names on the other side of a reshape */
} shrinking;

static bool has(const name_set *s, int k)
{
    return s->word[k / 64] >> k % 64 & 1;
}

static void put_name(name_set *s, int k)
{
    s->word[k / 64] |= (uint64_t)1 << k % 64;
}

static name_set joined(const name_set *a, const name_set *b)
{
    name_set both;
    for (int w = 0; w < NAME_WORDS; w++) both.word[w] = a->word[w] | b->word[w];
    return both;
}

/* ---- names and what relates them ---- */

static int name_number(const shrinking *s, const char *name)
{
    for (int k = 0; k < s->nnames; k++)
        if (strcmp(s->names[k], name) == 0) return k;
    return -1;
}

static void list_names(shrinking *s)
{
    for (int i = 0; i < s->rules.n; i++) {
        const resize_rule *r = &s->rules.list[i];
        int                k = name_number(s, r->name);
        if (k < 0 && s->nnames < MOST_NAMES) s->names[k = s->nnames++] = r->name;
        if (k >= 0 && r->from > s->largest[k]) s->largest[k] = r->from;
    }
    for (int k = 0; k < s->nnames; k++) put_name(&s->alike[k], k);
}

/* Relates the dimensions that only one side has: a reshape makes one of the other. */
static void relate_shapes(shrinking *s, const mtf_shape *in, const mtf_shape *out)
{
    for (int a = 0; a < in->ndims; a++)
        for (int b = 0; b < out->ndims; b++) {
            int i = name_number(s, in->dims[a].name), j = name_number(s, out->dims[b].name);
            if (i < 0 || j < 0 || i == j) continue;
            if (shape_find(out, in->dims[a].name) >= 0 || shape_find(in, out->dims[b].name) >= 0)
                continue;
            name_set *to = in->dims[a].size == out->dims[b].size ? s->alike : s->related;
            put_name(&to[i], j);
            put_name(&to[j], i);
        }
}

static void relate(shrinking *s)
{
    for (int t = 0; t < s->graph->ntensors; t++) {
        const mtf_tensor *y = s->graph->all[t];
        if (y->node->nin > 0 && y->node->in[0]->shape.ndims > 0)
            relate_shapes(s, &y->node->in[0]->shape, &y->shape);
    }
}

/* ---- sizes ---- */

/* Builds the graph as the rules say, in a session of its own: is it accepted? */
static bool is_accepted(const shrinking *s)
{
    mtf_session *quiet = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = quiet ? mtf_graph_new(quiet) : NULL;
    images       m = g ? images_new((mtf_graph *)s->graph, &g->arena) : (images){0};
    bool         ok = m.of && resize_graph(s->graph, &s->rules, false, g, &m) && mtf_ok(quiet);
    if (quiet) session_free(quiet);
    return ok;
}

/* Tries new sizes for all names of a set; restores the old ones where the graph is not accepted. */
typedef int64_t resizing(const resize_rule *r, int64_t by);

static bool try_sizes(shrinking *s, const name_set *names, resizing *how, int64_t by)
{
    int64_t *kept = s->rules.n ? arena_array((arena *)&s->graph->arena, int64_t, s->rules.n) : NULL;
    bool     changed = false;
    if (!kept) return false;
    for (int i = 0; i < s->rules.n; i++) {
        resize_rule *r = &s->rules.list[i];
        int          k = name_number(s, r->name);
        kept[i] = r->to;
        if (k >= 0 && has(names, k)) r->to = how(r, by);
        changed = changed || r->to != kept[i];
    }
    if (changed && is_accepted(s)) return true;
    for (int i = 0; i < s->rules.n; i++) s->rules.list[i].to = kept[i];
    return false;
}

static int64_t less(const resize_rule *r, int64_t by)
{
    return r->from > by ? r->from - by : r->from;
}

static int64_t divided(const resize_rule *r, int64_t by)
{
    return r->from % by == 0 ? r->from / by : r->from;
}

/* Divides all sizes of the names by the largest number that leaves at least the target size, and
 * even parts where they were even. */
static bool try_divisors(shrinking *s, int name, const name_set *names)
{
    int64_t size = s->largest[name], target = relations_target(s->layout, s->names[name], size);
    int64_t parts = relations_parts(s->layout, s->names[name]);
    int     tried = 0;
    for (int64_t left = target; left < size && tried < DIVISORS; left++) {
        if (size % left || (size % parts == 0) != (left % parts == 0)) continue;
        tried++;
        if (try_sizes(s, names, divided, size / left)) return true;
    }
    return false;
}

static bool shrink_name(shrinking *s, int name)
{
    int64_t  size = s->largest[name], target = relations_target(s->layout, s->names[name], size);
    name_set alone = {0};
    put_name(&alone, name);
    if (target == size) return true;
    if (try_sizes(s, &alone, less, size - target)) return true;
    if (try_sizes(s, &s->alike[name], less, size - target)) return true;
    if (try_divisors(s, name, &alone) || try_divisors(s, name, &s->alike[name])) return true;
    for (int k = 0; k < s->nnames; k++) {
        if (!has(&s->related[name], k)) continue;
        name_set both = joined(&s->alike[name], &s->alike[k]);
        if (try_divisors(s, name, &both)) return true;
    }
    return false;
}

/* Tries the sizes that the relations between dimensions allow: all at once, else set by set.  False
 * where some were refused. */
static bool shrink_related(shrinking *s, const relations *r)
{
    int64_t *kept = s->rules.n ? arena_array((arena *)&s->graph->arena, int64_t, s->rules.n) : NULL;
    relations_shrink(r, -1, &s->rules);
    if (!kept || is_accepted(s)) return true;
    for (int i = 0; i < s->rules.n; i++) s->rules.list[i].to = s->rules.list[i].from;
    for (int k = 0; k < relations_free(r); k++) {
        for (int i = 0; i < s->rules.n; i++) kept[i] = s->rules.list[i].to;
        relations_shrink(r, k, &s->rules);
        if (is_accepted(s)) continue;
        for (int i = 0; i < s->rules.n; i++) s->rules.list[i].to = kept[i];
    }
    return false;
}

/* The largest first, which makes the following trials faster. */
static void shrink_names(shrinking *s)
{
    name_set done = {0};
    for (int n = 0; n < s->nnames; n++) {
        int next = -1;
        for (int k = 0; k < s->nnames; k++)
            if (!has(&done, k) && (next < 0 || s->largest[k] > s->largest[next])) next = k;
        put_name(&done, next);
        bool whole = true; /* not yet made smaller together with another */
        for (int i = 0; i < s->rules.n; i++)
            whole = whole && (strcmp(s->rules.list[i].name, s->names[next]) != 0 ||
                              s->rules.list[i].to == s->rules.list[i].from);
        if (whole) shrink_name(s, next);
    }
}

/* ---- the graph ---- */

bool shrink_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const layout *l,
                  shrunk *small)
{
    arena     *a = &g->arena;
    shrinking *s = arena_new(a, shrinking);
    subject    whole, few;
    TRY(s && subject_whole(g, nfetches, fetches, a, &whole) &&
        subject_reduce(&whole, true, a, &few));
    s->graph = few.graph;
    s->layout = l;
    TRY(resize_list(few.graph, a, &s->rules));
    list_names(s);
    relate(s);
    const relations *r = relations_find(few.graph, l, &s->rules, a);
    TRY(r != NULL);
    if (!shrink_related(s, r)) shrink_names(s);
    *small = (shrunk){.graph = mtf_graph_new(g->session), .rules = s->rules, .copies = few.copies};
    images m = images_new(few.graph, a);
    small->fetches = arena_array(a, mtf_tensor *, nfetches + 1);
    TRY(small->graph && m.of && small->fetches);
    TRY(resize_graph(few.graph, &s->rules, true, small->graph, &m));
    for (int i = 0; i < nfetches; i++) small->fetches[i] = image_of(&m, few.fetches[i]);
    return true;
}
