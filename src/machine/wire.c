/* What all wires share: groups, and error messages. */
#include "machine/wire.h"

int group_after(const group *g, int k)
{
    return (g->mine + k) % g->n;
}

void wire_give_up(wire *w, int me)
{
    int none = -1;
    atomic_compare_exchange_strong(&w->failed, &none, me);
}

bool wire_late(wire *w, const instr *i, int n, const int *who)
{
    char text[400];
    mesh_write_places(w->mesh, n, who, text, sizeof text);
    return fail(&w->session->fault, ERR_LATE, "%s of \"%s\" waited %d seconds for %s (--patience)",
                instr_name(i->kind), mtf_name_of_tensor(i->cause), w->session->opts.patience, text);
}
