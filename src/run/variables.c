/* Reading and setting variables between steps. */
#include "base/dtype.h"
#include "ops/state.h"
#include "run/parts.h"
#include "run/share.h"

static store_entry *entry_of(mtf_tensor *w)
{
    mtf_graph *g = graph_of(w);
    if (!g) return NULL;
    if (!variable_is(w->node)) {
        fail(&g->session->fault, ERR_USAGE, "\"%s\" is not a variable", tensor_name(w));
        return NULL;
    }
    store *s = store_of(g->session);
    return s ? store_variable(s, w) : NULL;
}

bool parts_get(store *s, const store_entry *e, void *whole)
{
    for (int k = s->first; k < s->end; k++) {
        mesh_point here = mesh_place(&s->mesh, k);
        mtf_shape  local = placement_local(&s->mesh, &e->where, &here, &e->shape);
        slice      dense = slice_dense(0, e->type, &local);
        TRY(part_read(s, k, e->type, &e->shape, &e->where, e->parts[k], dense.stride, whole));
    }
    return share_parts(s, e->name, e->type, &e->shape, &e->where, whole);
}

static bool get(mtf_tensor *variable, void *data)
{
    store_entry *e = entry_of(variable);
    return e && parts_get(store_of(graph_of(variable)->session), e, data);
}

static bool set(mtf_tensor *variable, const void *data)
{
    store_entry *e = entry_of(variable);
    if (!e) return false;
    store *s = store_of(graph_of(variable)->session);
    for (int k = s->first; k < s->end; k++)
        TRY(part_write(s, k, e->type, &e->shape, &e->where, data, e->parts[k]));
    return true;
}

/* Room for w's elements in its own type, if the caller has them in another one. */
static void *room_for(const mtf_tensor *w)
{
    mtf_session *s = w->node->graph->session;
    size_t       bytes = (size_t)shape_size(&w->shape) * mtf_dtype_bytes(w->type);
    return block_alloc(&s->allocator, &s->fault, bytes, false);
}

bool mtf_variable_get(mtf_tensor *variable, void *data)
{
    mtf_tensor *w = variable_behind(variable);
    if (w == variable || !graph_of(variable)) return get(variable, data);
    void *own = room_for(w);
    bool  ok = own && get(w, own);
    if (ok) dtype_convert(variable->type, data, w->type, own, shape_size(&w->shape));
    block_free(&w->node->graph->session->allocator, own);
    return ok;
}

bool mtf_variable_set(mtf_tensor *variable, const void *data)
{
    mtf_tensor *w = variable_behind(variable);
    if (w == variable || !graph_of(variable)) return set(variable, data);
    void *own = room_for(w);
    if (own) dtype_convert(w->type, own, variable->type, data, shape_size(&w->shape));
    bool ok = own && set(w, own);
    block_free(&w->node->graph->session->allocator, own);
    return ok;
}
