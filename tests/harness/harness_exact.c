/* Compares a mesh's programs with the graph, on residues. */
#include "harness_exact.h"

#include <stdio.h>
#include <string.h>

#include "verify/shrink.h"
#include "verify/verify.h"

/* Large cases are there for kernels, which are not asked here: they are made smaller.  Of those that
 * cannot be, few layouts will do. */
enum { LARGE = 3000, FEW = 24 };

static bool is_large(const mtf_graph *g)
{
    for (int i = 0; i < g->ntensors; i++)
        if (shape_size(&g->all[i]->shape) > LARGE) return true;
    return false;
}

static bool agrees(mtf_graph *g, int n, mtf_tensor *const *fetches, const layout *l, char *error)
{
    verify_opts   how = {.layout = l, .brief = true};
    verify_answer a;
    if (!verify_graph(g, n, fetches, &how, &a)) return false; /* the session says why */
    if (!a.equal)
        snprintf(error, ERROR_ROOM, "exact: %.80s differs on processor %d%s%.400s",
                 a.first.tensor ? mtf_name_of_tensor(a.first.tensor) : "", a.first.processor,
                 a.stuck ? ": " : "", a.stuck ? a.stuck : "");
    return a.equal;
}

bool exact_agrees(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const stage *where,
                  char *error)
{
    mtf_session *s = g->session;
    mesh         m;
    layout       l;
    const char  *rules = where->layout ? where->layout : "";
    if (!mesh_parse(s, where->mesh ? where->mesh : "", &m) || !layout_parse(s, rules, &m, &l) ||
        !layout_parse_state(s, where->state_layout ? where->state_layout : "", &l))
        return false;
    uint64_t chosen = hash_text(rules);
    shrunk   small;
    if (is_large(g)) {
        if (!shrink_graph(g, nfetches, fetches, &l, &small)) return false;
        g = small.graph;
        fetches = small.fetches;
        if (is_large(g) && chosen % FEW) return true;
    }
    if (chosen % 2 == 0 || nfetches < 2) return agrees(g, nfetches, fetches, &l, error);
    return agrees(g, 1, fetches + chosen / 2 % (uint64_t)nfetches, &l, error);
}
