/* Says which axes of the mesh no rule of the layout uses. */
#include "cli/idle_axes.h"

#include <stdio.h>
#include <string.h>

#include "search/automatic.h"
#include "space/layout.h"

static bool graph_has(const mtf_graph *g, const char *dim)
{
    for (int i = 0; i < g->ntensors; i++)
        if (mtf_shape_dim(g->all[i]->shape, dim).size) return true;
    return false;
}

static unsigned axes_of(const mtf_graph *g, int n, const layout_rule *rules)
{
    unsigned axes = 0;
    for (int r = 0; r < n; r++)
        if (graph_has(g, rules[r].dim)) axes |= cut_axes(&rules[r].cut);
    return axes;
}

bool idle_axes_note(const options *o, const mtf_graph *g)
{
    const char *given = option_nth(o, "mesh", 0), *rules = option_nth(o, "layout", 0),
               *state = option_nth(o, "state-layout", 0);
    mesh   m;
    layout l;
    if (!given || automatic_is_asked(given, rules, state)) return true;
    TRY(mesh_parse(g->session, given, &m) && layout_parse(g->session, rules ? rules : "", &m, &l) &&
        layout_parse_state(g->session, state, &l));
    unsigned used = axes_of(g, l.nrules, l.rules) | axes_of(g, l.nstate, l.state);
    for (int a = 0; a < m.naxes; a++)
        if (m.size[a] > 1 && !(used >> a & 1))
            fprintf(stderr,
                    "mtf: note: no rule of the layout uses the axis \"%s\": its %d processors do "
                    "the same work\n",
                    m.name[a], m.size[a]);
    return true;
}
