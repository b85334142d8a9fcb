/* What all wires share: groups, and who is to blame. */
#include "machine/wire.h"

group group_of(const mesh *m, int me, unsigned axes)
{
    group g = {.here = mesh_place(m, me)};
    for (int a = 0; a < m->naxes; a++)
        if (axes >> a & 1) g.axes.axis[g.axes.n++] = (uint8_t)a;
    g.n = cut_parts(m, &g.axes);
    g.mine = cut_part(m, &g.axes, &g.here);
    return g;
}

int group_member(const mesh *m, const group *g, int k)
{
    mesh_point p = g->here;
    cut_set_part(m, &g->axes, k, &p);
    return mesh_number(m, &p);
}

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
