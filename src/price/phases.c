/* Phases: forward, backward or update, and layers of tensors.
 *
 * Updates are found from the assignments backwards, as long as shapes are those of
 * the variables: such a chain begins with a gradient.  Nodes that lead to a result
 * which does not depend on gradients are forward, the rest are backward.
 */
#include "price/phases.h"

#include <string.h>

#include "base/names.h"

/* Marks of a node of the root block, by node id. */
typedef struct mark {
    bool reached; /* its value goes into an update */
    bool update, gradient, after, forward, wanted;
    int  layer; /* -1: not known yet */
} mark;

typedef struct finder {
    const mtf_graph *graph;
    arena           *arena;
    phases          *phases;
    mark            *marks;
    name_table       known;
} finder;

static bool is_op(const node *n, const char *name)
{
    return strcmp(n->op->name, name) == 0;
}

static bool is_source(const node *n)
{
    return is_op(n, "variable") || is_op(n, "constant") || is_op(n, "input");
}

/* ---- phases ---- */

static bool same_dims(const mtf_shape *a, const mtf_shape *b)
{
    if (a->ndims != b->ndims) return false;
    for (int d = 0; d < a->ndims; d++)
        if (shape_find(b, a->dims[d].name) < 0) return false;
    return true;
}

/* Whether its result is a scalar, or has the dimensions of all inputs that are not scalars. */
static bool keeps_shape(const node *n)
{
    if (n->nout == 0 || n->op->blocks) return false;
    if (n->out[0]->shape.ndims == 0) return true;
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->shape.ndims > 0 && !same_dims(&n->in[i]->shape, &n->out[0]->shape))
            return false;
    return true;
}

static void find_updates(finder *f)
{
    const block *b = &f->graph->root;
    for (int k = b->nnodes - 1; k >= 0; k--) {
        const node *n = b->nodes[k];
        mark       *m = &f->marks[n->id];
        bool        store = n->op->flags & OP_STORE;
        if (!store && (!m->reached || is_source(n))) continue;
        m->update = store || (keeps_shape(n) && !m->wanted);
        m->gradient = !m->update;
        for (int i = 0; m->update && i < n->nin; i++) f->marks[n->in[i]->node->id].reached = true;
    }
}

static void find_after(finder *f)
{
    const block *b = &f->graph->root;
    for (int k = 0; k < b->nnodes; k++) {
        const node *n = b->nodes[k];
        mark       *m = &f->marks[n->id];
        m->after = m->update || m->gradient;
        for (int i = 0; i < n->nin && !m->after; i++) m->after = f->marks[n->in[i]->node->id].after;
    }
}

/* Backwards from results that do not depend on gradients: fetched ones, and unused ones. */
static bool find_forward(finder *f)
{
    const block *b = &f->graph->root;
    bool        *used = arena_array(f->arena, bool, f->graph->nnodes + 1), any = false;
    TRY(used != NULL);
    for (int k = b->nnodes - 1; k >= 0; k--) {
        const node *n = b->nodes[k];
        mark       *m = &f->marks[n->id];
        any = any || m->update;
        if (!m->after && (m->wanted || !used[n->id])) m->forward = true;
        for (int i = 0; i < n->nin; i++) {
            used[n->in[i]->node->id] = true;
            if (m->forward) f->marks[n->in[i]->node->id].forward = true;
        }
    }
    /* Where nothing is trained, everything is forward. */
    for (int k = 0; !any && k < b->nnodes; k++) f->marks[b->nodes[k]->id].forward = true;
    return true;
}

static phase phase_of(const mark *m)
{
    if (m->forward) return PHASE_FORWARD;
    return m->update || (m->after && !m->gradient) ? PHASE_UPDATE : PHASE_BACKWARD;
}

/* ---- layers ---- */

static bool ends_in_digit(const char *text, size_t n)
{
    return n > 0 && text[n - 1] >= '0' && text[n - 1] <= '9';
}

size_t numbered_scope(const char *scope)
{
    for (const char *at = scope; *at;) {
        size_t n = strcspn(at, "/");
        if (ends_in_digit(at, n)) return (size_t)(at - scope) + n;
        at += n + (at[n] == '/');
    }
    return 0;
}

/* Up to the first scope with a number; the outermost scope where none has one. */
static size_t layer_length(const char *scope)
{
    size_t numbered = numbered_scope(scope);
    return numbered ? numbered : strcspn(scope, "/");
}

static int layer_named(finder *f, const char *scope, size_t length)
{
    char *name = arena_alloc(f->arena, length + 1);
    if (!name) return -1;
    memcpy(name, scope, length);
    int *known = names_get(&f->known, name);
    if (known) return *known;
    int *number = arena_new(f->arena, int);
    if (!number || !arena_push(f->arena, f->phases->names, f->phases->n, f->phases->room))
        return -1;
    *number = f->phases->n;
    f->phases->names[f->phases->n++] = name;
    return names_put(&f->known, name, number) ? *number : -1;
}

/* The layer by name.  Optimizer state has the variable's name as a prefix: layer0/q/adam_m. */
static int layer_by_name(finder *f, const mtf_tensor *x)
{
    char *scope = arena_text(f->arena, x->name ? x->name : x->scope), *slash;
    while (scope && (slash = strrchr(scope, '/')) != NULL) {
        *slash = 0;
        if (!names_get(&f->graph->tensors, scope))
            return layer_named(f, scope, layer_length(scope));
    }
    return 0;
}

/* Gradients and updates belong to the layer of what they are of. */
static int layer_of(finder *f, const node *n)
{
    const mtf_tensor *x = n->subject ? n->subject : n->nout ? n->out[0] : NULL;
    return x ? layer_by_name(f, x) : 0;
}

static void name_layers(finder *f)
{
    const block *b = &f->graph->root;
    for (int k = 0; k < b->nnodes; k++) {
        const node *n = b->nodes[k];
        mark       *m = &f->marks[n->id];
        if (n->subject || m->forward || is_op(n, "variable")) m->layer = layer_of(f, n);
    }
}

/* An update that the user wrote has the layer of the variable, and so have the values that it alone needs. */
static void name_own_updates(finder *f)
{
    const block *b = &f->graph->root;
    for (int k = b->nnodes - 1; k >= 0; k--) {
        const node *n = b->nodes[k];
        mark       *m = &f->marks[n->id];
        if (!m->update || n->subject) continue;
        if (n->op->flags & OP_STORE && n->nin) m->layer = f->marks[n->in[0]->node->id].layer;
        for (int i = 0; i < n->nin; i++) {
            mark *from = &f->marks[n->in[i]->node->id];
            if (from->update && from->layer < 0) from->layer = m->layer;
        }
    }
}

/* ---- all tensors ---- */

static void enter(finder *f, const node *n, phase when, int layer)
{
    for (int i = 0; i < n->nout; i++) {
        f->phases->phase[n->out[i]->id] = (uint8_t)when;
        f->phases->layer[n->out[i]->id] = layer < 0 ? 0 : layer;
    }
}

/* Nodes inside blocks have the owner's phase and layer, unless they have a layer of their own.  A loop over
   micro-batches holds what it sums gradients of, and the gradients. */
static void enter_blocks(finder *f, const node *owner, phase when, int layer)
{
    bool holds_forward = when == PHASE_BACKWARD && !owner->subject;
    for (int b = 0; owner->op->blocks && owner->op->blocks[b]; b++)
        for (int k = 0; owner->blocks[b] && k < owner->blocks[b]->nnodes; k++) {
            const node *n = owner->blocks[b]->nodes[k];
            int         own = layer_of(f, n);
            phase       then = holds_forward && !n->subject ? PHASE_FORWARD : when;
            enter(f, n, then, own > 0 ? own : layer);
            enter_blocks(f, n, then, own > 0 ? own : layer);
        }
}

bool phases_find(const mtf_graph *g, int nfetches, mtf_tensor *const *fetches, arena *a, phases *p)
{
    finder f = {.graph = g, .arena = a, .phases = p, .known = {.arena = a}};
    *p = (phases){.phase = arena_array(a, uint8_t, g->ntensors + 1),
                  .layer = arena_array(a, int, g->ntensors + 1)};
    f.marks = arena_array(a, mark, g->nnodes + 1);
    TRY(p->phase && p->layer && f.marks && layer_named(&f, "", 0) == 0);
    for (int k = 0; k < g->nnodes; k++) f.marks[k].layer = -1;
    for (int k = 0; k < nfetches; k++) f.marks[fetches[k]->node->id].wanted = true;
    find_updates(&f);
    find_after(&f);
    TRY(find_forward(&f));
    name_layers(&f);
    name_own_updates(&f);
    for (int k = 0; k < g->root.nnodes; k++) {
        const node *n = g->root.nodes[k];
        const mark *m = &f.marks[n->id];
        enter(&f, n, phase_of(m), m->layer);
        enter_blocks(&f, n, phase_of(m), m->layer);
    }
    return mtf_ok(g->session);
}
