/* Operations on whole tensors, named and in order.
 *
 * Names are unique in a graph, without regard to case, as in the original: the
 * first `a` is a, the next a_1, then a_2, skipping what is taken.  Tensors get
 * automatic names only on demand.
 */
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "graph/node.h"

static void close_graph(void *what)
{
    mtf_graph *g = what;
    arena_free(&g->arena);
}

mtf_graph *mtf_graph_new(mtf_session *s)
{
    if (!mtf_ok(s)) return NULL;
    mtf_graph *g = arena_new(&s->arena, mtf_graph);
    if (!g) return NULL;
    g->session = s;
    g->arena = arena_make(&s->allocator, &s->fault);
    g->tensors.arena = g->dim_names.arena = g->taken.arena = &g->arena;
    g->stand_ins.arena = &g->arena;
    g->root.graph = g;
    g->root.name = "graph";
    g->current = &g->root;
    g->scope = "";
    if (!session_at_close(s, close_graph, g)) return NULL;
    return g;
}

static bool usable(const mtf_graph *g)
{
    return g && mtf_ok(g->session);
}

mtf_graph *graph_of(const mtf_tensor *x)
{
    return x && usable(x->node->graph) ? x->node->graph : NULL;
}

bool graph_trains(const mtf_graph *g)
{
    for (int i = 0; i < g->root.nnodes; i++)
        if (g->root.nodes[i]->op->flags & OP_STORE) return true;
    return false;
}

void mtf_scope_push(mtf_graph *g, const char *name)
{
    if (!usable(g)) return;
    textbuf t = {.arena = &g->arena};
    text_add(&t, "%s%s/", g->scope, name);
    char *scope = text_done(&t);
    if (scope) g->scope = scope;
}

void mtf_scope_pop(mtf_graph *g)
{
    if (!usable(g)) return;
    size_t n = strlen(g->scope);
    if (n == 0) {
        fail(&g->session->fault, ERR_USAGE, "mtf_scope_pop without a scope that was pushed");
        return;
    }
    n--;
    while (n > 0 && g->scope[n - 1] != '/') n--;
    char *scope = arena_copy(&g->arena, g->scope, n + 1);
    if (!scope) return;
    scope[n] = 0;
    g->scope = scope;
}

/* ---- names ---- */

/* Lower-case copy: uniqueness does not depend on case. */
static const char *folded(mtf_graph *g, const char *name)
{
    char *copy = arena_text(&g->arena, name);
    for (char *p = copy; p && *p; p++) *p = ascii_lower(*p);
    return copy;
}

static bool claim(mtf_graph *g, const char *name, bool *free)
{
    const char *key = folded(g, name);
    TRY(key != NULL);
    *free = names_get(&g->taken, key) == NULL;
    return !*free || names_put(&g->taken, key, g);
}

/* `taken` also holds the counter of each repeated name, under that name with a space before it. */
static const char *unique_under(mtf_graph *g, const char *scope, const char *wish)
{
    textbuf first = {.arena = &g->arena};
    text_add(&first, "%s%s", scope, wish);
    const char *name = text_done(&first);
    bool        free = false;
    if (!name || !claim(g, name, &free)) return NULL;
    if (free) return name;
    textbuf counter_name = {.arena = &g->arena};
    text_add(&counter_name, " %s", name);
    const char *key = text_done(&counter_name);
    int        *counter = key ? names_get(&g->taken, key) : NULL;
    if (key && !counter) {
        counter = arena_new(&g->arena, int);
        if (counter && !names_put(&g->taken, key, counter)) return NULL;
    }
    while (counter) {
        textbuf next = {.arena = &g->arena};
        text_add(&next, "%s_%d", name, ++*counter);
        const char *candidate = text_done(&next);
        if (!candidate || !claim(g, candidate, &free)) return NULL;
        if (free) return candidate;
    }
    return NULL;
}

const char *graph_unique_name(mtf_graph *g, const char *wish)
{
    return unique_under(g, g->scope, wish);
}

bool graph_name_tensor(mtf_graph *g, mtf_tensor *x, const char *name)
{
    if (x->name && strcmp(x->name, name) == 0) return true;
    bool free = false;
    TRY(claim(g, name, &free));
    if (!free)
        return fail(&g->session->fault, ERR_NAME, "the name \"%s\" is given twice in one graph",
                    name);
    const char *kept = arena_text(&g->arena, name);
    TRY(kept && names_put(&g->tensors, kept, x));
    x->name = kept;
    return true;
}

const char *tensor_place(const mtf_tensor *x, char text[PLACE_TEXT])
{
    const node *n = x->node;
    text[0] = 0;
    if (n->line && n->graph->file)
        snprintf(text, PLACE_TEXT, " (%.140s:%d)", n->graph->file, n->line);
    return text;
}

const char *tensor_name(const mtf_tensor *x)
{
    if (x->name) return x->name;
    mtf_graph  *g = x->node->graph;
    mtf_tensor *t = g->all[x->id]; /* the same tensor, writable: naming changes no meaning */
    char        wish[80];
    if (x->index == 0)
        snprintf(wish, sizeof wish, "%s", x->node->op->name);
    else
        snprintf(wish, sizeof wish, "%s_out%d", x->node->op->name, x->index);
    const char *name = unique_under(g, x->scope, wish);
    if (!name || !names_put(&g->tensors, name, t)) return x->node->op->name;
    t->name = name;
    return name;
}

const char *graph_intern(mtf_graph *g, const char *name)
{
    char *kept = names_get(&g->dim_names, name);
    if (kept) return kept;
    kept = arena_text(&g->arena, name);
    return kept && names_put(&g->dim_names, kept, kept) ? kept : NULL;
}

bool graph_intern_shape(mtf_graph *g, mtf_shape *shape, const char *what)
{
    TRY(shape_check(shape, what, &g->session->fault));
    for (int i = 0; i < shape->ndims; i++) {
        shape->dims[i].name = graph_intern(g, shape->dims[i].name);
        TRY(shape->dims[i].name != NULL);
    }
    return true;
}

/* ---- queries about tensors ---- */

mtf_tensor *mtf_find(mtf_graph *g, const char *name)
{
    if (!usable(g)) return NULL;
    mtf_tensor *x = names_get(&g->tensors, name);
    nearest     near = {.wanted = name};
    for (int i = 0; i < g->ntensors && !x; i++)
        if (g->all[i]->name) nearest_offer(&near, g->all[i]->name);
    if (!x) graph_name_all(g); /* automatic names are made on demand */
    for (int i = 0; i < g->ntensors && !x; i++) {
        nearest_offer_foreign(&near, tensor_name(g->all[i]));
        if (strcmp(tensor_name(g->all[i]), name) == 0) x = g->all[i];
    }
    if (x) return x;
    char hint[120];
    fail(&g->session->fault, ERR_NAME, "no tensor is called \"%s\"%s", name,
         nearest_hint(&near, hint, sizeof hint));
    return NULL;
}

mtf_shape mtf_shape_of_tensor(const mtf_tensor *x)
{
    return x ? x->shape : (mtf_shape){0};
}

mtf_dtype mtf_dtype_of_tensor(const mtf_tensor *x)
{
    return x ? x->type : MTF_F32;
}

const char *mtf_name_of_tensor(const mtf_tensor *x)
{
    return x ? tensor_name(x) : "";
}

mtf_tensor *mtf_name(mtf_tensor *x, const char *name)
{
    mtf_graph *g = graph_of(x);
    if (!g) return NULL;
    if (x->name && strcmp(x->name, name) == 0) return x;
    const char *unique = graph_unique_name(g, name);
    if (!unique || !names_put(&g->tensors, unique, x)) return NULL;
    x->name = unique;
    return x;
}
