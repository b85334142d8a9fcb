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
    mesh           mesh;
    unsigned       axes;  /* that may cut the batch */
    double         least; /* seconds per example */
    char           best[MOST_RULES];
    char           starts[2 * MOST_RULES]; /* the layout that was found with it, and those to begin with */
} choosing;

/* "batch:x+y,auto": the batch is cut along these axes, and the rest is found. */
static void write_rules(const choosing *c, unsigned axes, char text[MOST_RULES])
{
    const char *rules = option_nth(c->given, "layout", 0);
    int         n = 0;
    for (int a = 0; a < c->mesh.naxes; a++)
        if (axes >> a & 1)
            n += snprintf(text + n, (size_t)(MOST_RULES - n), "%s%s", n ? "+" : "batch:", c->mesh.name[a]);
    snprintf(text + n, (size_t)(MOST_RULES - n), "%s%s", n ? "," : "", rules);
}

/* A layout that does not cut the batch is found among all: it counts only where it is the best there. */
static bool cuts_batch(const layout *l)
{
    const layout_rule *rule = layout_find(l, "batch");
    return rule && rule->cut.n > 0;
}

static bool try_axes(choosing *c, mtf_session *s, const options *o, unsigned axes, const char *rules)
{
    price_rates      rates;
    site             at;
    int              n;
    mtf_tensor     **fetches;
    automatic_answer found;
    TRY(choose_planned_machine(o, s, &rates) && choose_site(o, s, &rates, &at));
    mtf_graph *g = setup_plan(o, s, &n, &fetches);
    TRY(g != NULL);
    automatic_opts how = {.mesh = option_nth(o, "mesh", 0),
                          .layout = rules,
                          .state_layout = option_nth(o, "state-layout", 0),
                          .rates = rates,
                          .limit = (int64_t)rates.capacity,
                          .starts = o->starts,
                          .seconds = 1e9,
                          .work = WORK};
    if (!automatic_find(g, n, fetches, &how, &found)) return false;
    double each = found.best[0].cost.seconds / (double)(g->batch.size ? g->batch.size : 1);
    if (each >= c->least || (!axes && cuts_batch(&found.best[0].layout))) return true;
    c->least = each;
    snprintf(c->best, sizeof c->best, "%s", rules);
    snprintf(c->starts, sizeof c->starts, "%s|%s", found.best[0].layout_text, o->starts ? o->starts : "");
    return true;
}

/* Each way to cut the batch has a session of its own, with a batch of its own: one that cannot be, such as
 * one that does not fit, is passed over. */
static void try_way(choosing *c, unsigned axes)
{
    char    rules[MOST_RULES];
    options o = *c->given;
    write_rules(c, axes, rules);
    o.values = malloc((size_t)o.nvalues * sizeof *o.values + 1);
    for (int i = 0; o.values && i < o.nvalues; i++) {
        o.values[i] = c->given->values[i];
        if (strcmp(o.values[i].spec->name, "layout") == 0) o.values[i].value = rules;
    }
    mtf_session *s = o.values ? planning_session(&o) : NULL;
    if (s) {
        try_axes(c, s, &o, axes, rules);
        session_free(s);
    }
    free(o.values);
}

static bool set_layout(options *o, const char *rules)
{
    const char *text = option_own(o, rules);
    if (!text) return false;
    for (int i = 0; i < o->nvalues; i++)
        if (strcmp(o->values[i].spec->name, "layout") == 0) o->values[i].value = text;
    return true;
}

/* Is the layout to be found on a mesh that is known, without a rule for the batch? */
static bool is_open(const options *o)
{
    const char *rules = option_nth(o, "layout", 0), *m = option_nth(o, "mesh", 0);
    return rules && m && strncmp(m, "auto:", 5) != 0 && automatic_is_asked(NULL, rules, NULL) &&
           !strstr(rules, "batch:") && strlen(rules) < MOST_RULES / 2;
}

static bool choose(choosing *c, mtf_session *s)
{
    if (!mesh_parse(s, option_nth(c->given, "mesh", 0), &c->mesh)) return false;
    for (int a = 0; a < c->mesh.naxes; a++) c->axes |= c->mesh.size[a] > 1 ? 1u << a : 0;
    for (unsigned axes = 0; axes <= c->axes; axes++)
        if (!(axes & ~c->axes)) try_way(c, axes);
    return *c->best;
}

int replicas_choose(options *o)
{
    choosing     c = {.given = o, .least = INFINITY};
    mtf_session *s = is_open(o) ? file_session(&(mtf_session_opts){0}) : NULL;
    if (!s) return -1;
    bool found = choose(&c, s); /* else the command will say what is wrong */
    session_free(s);
    return !found || (set_layout(o, c.best) && (o->starts = option_own(o, c.starts))) ? -1 : STATUS_FAILED;
}
