/* Whether a layout is legal for a graph. */
#include "plan/spread.h"

static bool is_variable(const mtf_tensor *x)
{
    return strcmp(x->node->op->name, "variable") == 0;
}

/* Does a variable, or any tensor, have this dimension?  Offers all names for the hint. */
static bool has_dim(const mtf_graph *g, bool variables, const char *dim, nearest *near)
{
    bool found = false;
    if (!variables && names_get(&g->dim_names, dim)) return true;
    for (int i = 0; i < g->ntensors && !found; i++) {
        const mtf_tensor *x = g->all[i];
        if (variables && !is_variable(x)) continue;
        for (int d = 0; d < x->shape.ndims; d++) {
            found |= strcmp(x->shape.dims[d].name, dim) == 0;
            if (!name_is_internal(x->shape.dims[d].name))
                nearest_offer(near, x->shape.dims[d].name);
        }
    }
    return found;
}

/* A rule must have something to cut, unless it ends in `?`. */
static bool check_rule(const layout_rule *r, bool state, mtf_graph *g)
{
    nearest near = {.wanted = r->dim};
    char    hint[100];
    if (r->optional || has_dim(g, state, r->dim, &near)) return true;
    return fail(&g->session->fault, ERR_USAGE,
                "--%s %s: %s dimension \"%s\"; end the rule in ? if that is meant%s",
                state ? "state-layout" : "layout", r->text,
                state ? "no variable has a" : "the model has no", r->dim,
                nearest_hint(&near, hint, sizeof hint));
}

bool spread_check(const layout *l, mtf_graph *g, const bool *live, unsigned *cut)
{
    fault *f = &g->session->fault;
    for (int i = 0; i < l->nrules; i++) TRY(check_rule(&l->rules[i], false, g));
    for (int i = 0; i < l->nstate; i++) TRY(check_rule(&l->state[i], true, g));
    for (int i = 0; i < g->ntensors; i++) {
        placement         where;
        const mtf_tensor *x = g->all[i];
        if (!live[x->node->id]) continue;
        if (!layout_place(l, &x->shape, "", NULL, &where))
            return layout_place(l, &x->shape, tensor_name(x), f, &where);
        for (int d = 0; d < x->shape.ndims; d++)
            if (cut_parts(l->mesh, &where.dim[d]) > 1) cut[i] |= 1u << d;
    }
    return true;
}
