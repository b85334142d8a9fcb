/* Reading and setting variables between steps. */
#include <string.h>

#include "run/parts.h"
#include "run/share.h"

static store_entry *entry_of(mtf_tensor *w)
{
    mtf_graph *g = graph_of(w);
    if (!g) return NULL;
    if (strcmp(w->node->op->name, "variable") != 0) {
        fail(&g->session->fault, ERR_USAGE, "\"%s\" is no variable", tensor_name(w));
        return NULL;
    }
    store *s = store_of(g->session);
    return s ? store_variable(s, w) : NULL;
}

bool mtf_variable_get(mtf_tensor *variable, void *data)
{
    store_entry *e = entry_of(variable);
    if (!e) return false;
    store *s = store_of(graph_of(variable)->session);
    for (int k = s->first; k < s->end; k++) {
        mesh_point here = mesh_place(&s->mesh, k);
        mtf_shape  local = placement_local(&s->mesh, &e->where, &here, &e->shape);
        slice      dense = slice_dense(0, e->type, &local);
        part_read(s, k, e->type, &e->shape, &e->where, e->parts[k], dense.stride, data);
    }
    return share_parts(s, e->name, e->type, &e->shape, &e->where, data);
}

bool mtf_variable_set(mtf_tensor *variable, const void *data)
{
    store_entry *e = entry_of(variable);
    if (!e) return false;
    store *s = store_of(graph_of(variable)->session);
    for (int k = s->first; k < s->end; k++)
        part_write(s, k, e->type, &e->shape, &e->where, data, e->parts[k]);
    return true;
}
