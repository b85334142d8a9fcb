/* How many replicas a batch is for, where its size is given for one. */
#include "cli/replicas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/choices.h"
#include "cli/graph_file.h"
#include "cli/train_setup.h"
#include "search/automatic.h"

/* All ranks must decide alike, so nodes are counted here, not seconds. */
enum { WORK = 50 * 1000, MOST_RULES = 400 };

typedef struct choosing {
    const options *given;
    const char    *rules;
    bool           given_cut; /* by a rule for the batch, or because nothing is to be found */
    mesh           mesh;
    const char    *mesh_text;
    int64_t        work;  /* for each way to cut the batch */
    double         least; /* seconds per example */
    char           best[MOST_RULES], best_mesh[MOST_RULES];
    char starts[2 * MOST_RULES]; /* the layout that was found with them, and those to begin with */
} choosing;

/* "batch:x+y,auto": the batch is cut along these axes, and the rest is found. */
static void write_rules(const choosing *c, unsigned axes, char text[MOST_RULES])
{
    int n = 0;
    for (int a = 0; a < c->mesh.naxes; a++)
        if (axes >> a & 1)
            n += snprintf(text + n, (size_t)(MOST_RULES - n), "%s%s",
                          n ? "+" : "batch:", c->mesh.name[a]);
    snprintf(text + n, (size_t)(MOST_RULES - n), "%s%s", n ? "," : "", c->rules);
}

/* A layout that does not cut the batch is found among all: it counts only where it is the best there. */
static bool cuts_batch(const layout *l)
{
    const layout_rule *rule = layout_find(l, "batch");
    return rule && rule->cut.n > 0;
}

static bool try_axes(choosing *c, mtf_session *s, const options *o, unsigned axes,
                     const char *rules)
{
    price_rates      rates;
    site             at;
    int              n;
    mtf_tensor     **fetches;
    automatic_answer found;
    TRY(choose_planned_machine(o, s, &rates) && choose_site(o, s, &rates, &at));
    mtf_graph *g = setup_plan(o, s, &n, &fetches);
    TRY(g != NULL);
    automatic_opts how = {.mesh = c->mesh_text,
                          .layout = rules,
                          .state_layout = option_nth(o, "state-layout", 0),
                          .rates = rates,
                          .limit = (int64_t)rates.capacity,
                          .starts = *c->starts ? c->starts : o->starts,
                          .seconds = 1e9,
                          .work = c->work};
    if (!automatic_find(g, n, fetches, &how, &found)) return false;
    double each = found.best[0].cost.seconds / (double)(g->batch.size ? g->batch.size : 1);
    if (each >= c->least || (!axes && !c->given_cut && cuts_batch(&found.best[0].layout)))
        return true;
    c->least = each;
    snprintf(c->best, sizeof c->best, "%s", rules);
    snprintf(c->best_mesh, sizeof c->best_mesh, "%s", c->mesh_text);
    snprintf(c->starts, sizeof c->starts, "%s|%s", found.best[0].layout_text,
             o->starts ? o->starts : "");
    return true;
}

/* Each way to cut the batch has a session of its own, with a batch of its own: one that cannot be, such as
 * one that does not fit, is passed over. */
static void try_way(choosing *c, unsigned axes)
{
    char    rules[MOST_RULES];
    options o = *c->given;
    o.trial = true;
    write_rules(c, axes, rules);
    o.values = malloc((size_t)o.nvalues * sizeof *o.values + 1);
    for (int i = 0; o.values && i < o.nvalues; i++) {
        o.values[i] = c->given->values[i];
        if (strcmp(o.values[i].spec->name, "layout") == 0) o.values[i].value = rules;
        if (strcmp(o.values[i].spec->name, "mesh") == 0) o.values[i].value = c->mesh_text;
    }
    mtf_session *s = o.values ? planning_session(&o) : NULL;
    if (s) {
        try_axes(c, s, &o, axes, rules);
        session_free(s);
    }
    free(o.values);
}

static bool set_option(options *o, const char *name, const char *value)
{
    const char *text = option_own(o, value);
    for (int i = 0; text && i < o->nvalues; i++)
        if (strcmp(o->values[i].spec->name, name) == 0) o->values[i].value = text;
    return text != NULL;
}

static bool set_found(options *o, const choosing *c, bool any_mesh)
{
    if (any_mesh && !set_option(o, "mesh", c->best_mesh)) return false;
    o->mesh_found = any_mesh;
    o->whole_batch = !c->given_cut && strncmp(c->best, "batch:", 6) != 0;
    return set_option(o, "layout", c->best) && (o->starts = option_own(o, c->starts));
}

/* Each way to cut the batch on this mesh. */
static void try_mesh(choosing *c)
{
    unsigned along = 0;
    for (int a = 0; a < c->mesh.naxes; a++) along |= c->mesh.size[a] > 1 ? 1u << a : 0;
    for (unsigned axes = 0; axes <= (c->given_cut ? 0 : along); axes++)
        if (!(axes & ~along)) try_way(c, axes);
}

/* On each mesh that --mesh leaves open. */
static bool choose(choosing *c, mtf_session *s)
{
    const options *o = c->given;
    uint64_t       axes = 0;
    automatic_opts how = {.mesh = option_nth(o, "mesh", 0),
                          .layout = c->rules,
                          .state_layout = option_nth(o, "state-layout", 0)};
    mesh          *list;
    int            n;
    if (!choose_planned_machine(o, s, &how.rates) ||
        !option_number(o, "most-axes", 1, MAX_AXES, &axes))
        return false;
    how.most_axes = (int)axes;
    if (!automatic_meshes(s, &how, &list, &n)) return false;
    c->work = WORK / n;
    for (int k = 0; k < n; k++) {
        c->mesh = list[k];
        if (!(c->mesh_text = automatic_mesh_text(s, &list[k]))) return false;
        try_mesh(c);
    }
    return *c->best;
}

void replicas_write(const options *o, int64_t batch, textbuf *t)
{
    if (o->replica_batch > 0 && batch > o->replica_batch && batch % o->replica_batch == 0)
        text_add(t, ", %lld for each of %lld replicas", (long long)o->replica_batch,
                 (long long)(batch / o->replica_batch));
}

int replicas_choose(options *o)
{
    const char *rules = option_nth(o, "layout", 0), *m = option_nth(o, "mesh", 0);
    bool        any_mesh = m && strncmp(m, "auto:", 5) == 0;
    choosing    c = {.given = o, .rules = rules, .least = INFINITY};
    if (!rules || !m || strlen(rules) >= MOST_RULES / 2) return -1;
    c.given_cut = strstr(rules, "batch:") || !automatic_is_asked(NULL, rules, NULL);
    mtf_session *s = any_mesh || !c.given_cut ? planning_session(o) : NULL;
    if (!s) return -1;
    bool found = choose(&c, s); /* else the command will say what is wrong */
    session_free(s);
    return !found || set_found(o, &c, any_mesh) ? -1 : STATUS_FAILED;
}
