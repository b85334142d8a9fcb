/* Whatever of mesh, layout and state layout is left open is found. */
#include "search/automatic.h"

#include <math.h>
#include <string.h>

#include "search/shapes.h"
#include "search/with_state.h"

/* Layouts for which rules for state are looked for; nodes planned to see what would fit. */
enum { TRIED_WITH_STATE = 6, HASTE = 300 * 1000 };

typedef struct finding {
    mtf_graph            *graph;
    int                   nfetches;
    mtf_tensor *const    *fetches;
    const automatic_opts *opts;
    automatic_answer     *answer;
    int                   room;
    search_answer        *last;        /* of the mesh in hand */
    mesh                  first;       /* of the meshes tried */
    double                state_bound; /* nothing is better with rules for state */
} finding;

/* ---- texts ---- */

static const char *mesh_text(mtf_session *s, const mesh *m)
{
    textbuf t = {.arena = &s->arena};
    for (int a = 0; a < m->naxes; a++)
        text_add(&t, "%s%s:%d", a ? "," : "", m->name[a], m->size[a]);
    return text_done(&t);
}

static const char *rules_text(mtf_session *s, const layout_rule *rules, int n)
{
    textbuf t = {.arena = &s->arena};
    for (int r = 0; r < n; r++) text_add(&t, "%s%s", r ? "," : "", rules[r].text);
    return text_done(&t);
}

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = text; p && *p; p += strcspn(p, ",.; \t\n")) {
        p += strspn(p, ",.; \t\n");
        if (strcspn(p, ",.; \t\n") == n && strncmp(p, word, n) == 0) return true;
    }
    return false;
}

bool automatic_is_asked(const char *m, const char *rules, const char *state)
{
    return has_word(rules, "auto") || has_word(state, "auto") || (m && strncmp(m, "auto:", 5) == 0);
}

/* ---- one mesh ---- */

static double value_of(const finding *f, const cost *c)
{
    return f->opts->smallest ? (double)c->peak : c->seconds;
}

static bool fits(const finding *f, const cost *c)
{
    return !f->opts->limit || c->peak <= f->opts->limit;
}

static bool is_kept(const automatic_answer *w, const found_layout *x)
{
    for (int k = 0; k < w->n; k++)
        if (strcmp(w->best[k].mesh_text, x->mesh_text) == 0 &&
            strcmp(w->best[k].layout_text, x->layout_text) == 0 &&
            strcmp(w->best[k].state_text, x->state_text) == 0)
            return true;
    return false;
}

/* Keeps it among the best, once; of equals the one that was there first. */
static bool keep(finding *f, const mesh *m, const layout *l, const cost *c, bool *first)
{
    automatic_answer *w = f->answer;
    mtf_session      *s = f->graph->session;
    int               at = w->n;
    *first = false;
    if (!fits(f, c)) return true;
    while (at > 0 && value_of(f, c) < value_of(f, &w->best[at - 1].cost) * (1 - SAME_PRICE)) at--;
    if (at >= f->room) return true;
    found_layout x = {.mesh = *m,
                      .layout = *l,
                      .cost = *c,
                      .mesh_text = mesh_text(s, m),
                      .layout_text = rules_text(s, l->rules, l->nrules),
                      .state_text = rules_text(s, l->state, l->nstate)};
    TRY(x.mesh_text && x.layout_text && x.state_text);
    if (is_kept(w, &x)) return true;
    if (w->n < f->room) w->n++;
    for (int k = w->n - 1; k > at; k--) {
        w->best[k] = w->best[k - 1];
        w->best[k].layout.mesh = &w->best[k].mesh;
    }
    w->best[at] = x;
    w->best[at].layout.mesh = &w->best[at].mesh;
    *first = at == 0;
    return true;
}

static bool search_mesh(finding *f, const layout *given, bool smallest, int64_t limit, int want)
{
    search_opts o = {.given = given,
                     .rates = f->opts->rates,
                     .smallest = smallest,
                     .limit = limit,
                     .want = want,
                     .work = smallest && !f->opts->smallest ? HASTE : 0,
                     .seconds = f->opts->seconds};
    return search_layout(f->graph, f->nfetches, f->fetches, &o, f->last);
}

static bool hear_state(void *context, const layout *l, const cost *c)
{
    finding *f = context;
    bool     first;
    TRY(keep(f, l->mesh, l, c, &first));
    if (first) f->answer->search = *f->last;
    return true;
}

/* The best layouts without are tried first with rules for state, those too that do not fit without. */
static bool try_state(finding *f, const layout *given)
{
    state_task t = {.graph = f->graph,
                    .nfetches = f->nfetches,
                    .fetches = f->fetches,
                    .given = given,
                    .rates = f->opts->rates,
                    .smallest = f->opts->smallest,
                    .limit = f->opts->limit,
                    .first = f->last,
                    .tell = hear_state,
                    .context = f};
    TRY(search_mesh(f, given, f->opts->smallest, 0, TRIED_WITH_STATE));
    TRY(state_search(&t));
    f->state_bound = fmin(f->state_bound, t.bound);
    return true;
}

static bool try_mesh(void *context, const mesh *m)
{
    finding              *f = context;
    const automatic_opts *o = f->opts;
    mtf_session          *s = f->graph->session;
    layout                given;
    bool                  first;
    if (!f->answer->meshes++) f->first = *m;
    TRY(layout_parse(s, o->layout, m, &given) && layout_parse_state(s, o->state_layout, &given));
    TRY(search_mesh(f, &given, o->smallest, o->limit, f->room));
    for (int k = 0; k < f->last->n; k++) {
        const candidate *x = &f->last->best[k];
        TRY(keep(f, m, &x->layout, &x->cost, &first));
        if (first) f->answer->search = *f->last;
    }
    return !given.asks_state || try_state(f, &given);
}

/* ---- nothing fits ---- */

/* The smallest layout on a mesh, as f->last. */
static bool find_smallest(finding *f, const mesh *m)
{
    mtf_session *s = f->graph->session;
    layout       given;
    return layout_parse(s, f->opts->layout, m, &given) &&
           layout_parse_state(s, f->opts->state_layout, &given) &&
           search_mesh(f, &given, true, 0, 1);
}

/* Would twice the processors along some axis do?  Four times?  Gives the mesh's text, or NULL. */
static const char *larger_mesh(finding *f)
{
    for (int times = 2; times <= 16; times *= 2)
        for (int a = 0; a < f->first.naxes; a++) {
            mesh more = f->first;
            if ((int64_t)mesh_size(&more) * times > MAX_PROCESSORS) return NULL;
            more.size[a] *= times;
            if (!find_smallest(f, &more)) return NULL;
            if (fits(f, &f->last->best[0].cost)) return mesh_text(f->graph->session, &more);
        }
    return NULL;
}

static bool nothing_fits(finding *f)
{
    mtf_session *s = f->graph->session;
    TRY(find_smallest(f, &f->first));
    int64_t     least = f->last->best[0].cost.peak, limit = f->opts->limit;
    const char *on = mesh_text(s, &f->first),
               *with = rules_text(s, f->last->best[0].layout.rules, f->last->best[0].layout.nrules);
    const char *more = larger_mesh(f);
    TRY(mtf_ok(s));
    return fail(
        &s->fault, ERR_MEMORY,
        "no layout on mesh %s fits: a processor may use %lld bytes, and the smallest layout, "
        "\"%s\", needs %lld, which is %lld too many; %s%s",
        on, (long long)limit, with, (long long)least, (long long)(least - limit),
        more ? "it would fit on mesh " : "make the batch smaller, or recompute", more ? more : "");
}

bool automatic_find(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                    const automatic_opts *opts, automatic_answer *answer)
{
    mtf_session *s = g->session;
    finding      f = {.graph = g,
                      .nfetches = nfetches,
                      .fetches = fetches,
                      .opts = opts,
                      .answer = answer,
                      .state_bound = INFINITY};
    mesh         m;
    *answer = (automatic_answer){0};
    f.room = opts->want < 1 ? 1 : opts->want < MOST_KEPT ? opts->want : MOST_KEPT;
    answer->best = arena_array(&s->arena, found_layout, f.room + 1);
    f.last = arena_new(&s->arena, search_answer);
    TRY(answer->best && f.last && mesh_parse(s, opts->mesh ? opts->mesh : "", &m));
    int axes = opts->most_axes > 0 ? opts->most_axes : 2;
    answer->mesh_found = mesh_asks(&m);
    TRY(answer->mesh_found ? shapes_visit(s, mesh_size(&m), axes, try_mesh, &f) : try_mesh(&f, &m));
    if (answer->n == 0) return nothing_fits(&f);
    if (isinf(f.state_bound)) return true; /* no rules for state were looked for */
    double best = value_of(&f, &answer->best[0].cost);
    answer->search.bound = f.state_bound;
    if (best > f.state_bound * (1 + SAME_PRICE))
        answer->search.gap = fmax(answer->search.gap, (best - f.state_bound) / best);
    return true;
}
