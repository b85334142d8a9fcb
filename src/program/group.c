/* Groups: the processors that take part in a collective. */
#include "program/group.h"

#include <assert.h>

group group_of(const mesh *m, int me, unsigned axes)
{
    group g = {.here = mesh_place(m, me)};
    for (int a = 0; a < m->naxes; a++)
        if (axes >> a & 1) g.axes.axis[g.axes.n++] = (uint8_t)a;
    g.n = cut_parts(m, &g.axes);
    g.mine = cut_part(m, &g.axes, &g.here);
    assert(g.mine >= 0 && g.mine < g.n);
    return g;
}

int group_member(const mesh *m, const group *g, int k)
{
    assert(k >= 0 && k < g->n);
    mesh_point p = g->here;
    cut_set_part(m, &g->axes, k, &p);
    return mesh_number(m, &p);
}

unsigned group_long_axes(const mesh *m, unsigned axes)
{
    for (int a = 0; a < m->naxes; a++)
        if (m->size[a] == 1) axes &= ~(1u << a);
    return axes;
}
