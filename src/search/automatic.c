/* Finds the meshes and layouts that users leave open. */
#include "search/automatic.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "microbatch/fewest.h"
#include "price/decline.h"
#include "search/memory_floor.h"
#include "search/shapes.h"
#include "search/with_state.h"

/* Layouts for which rules for state are searched; nodes planned at most to see what would fit. */
enum { TRIED_WITH_STATE = 6, HASTE = 300 * 1000 };
#define SECONDS 10.0 /* of search, by default */
#define OVERTIME 5.0 /* seconds after it, to price the runners-up as exactly as the best */

/* In how many parts the batch comes. */
typedef enum parts_state {
    PARTS_GIVEN, /* or it does not divide */
    PARTS_FIRST, /* more of them are tried where nothing fits */
    PARTS_LAST   /* no more can be tried */
} parts_state;

typedef struct finding {
    mtf_graph            *graph; /* of the whole batch */
    int                   nfetches;
    mtf_tensor *const    *fetches;
    microbatched          planned; /* with its batch in parts */
    const automatic_opts *opts;
    automatic_answer     *answer;
    int                   room;
    search_answer        *last;        /* of the current mesh */
    double                state_bound; /* no layout with rules for state is better, */
    double                state_root;  /* also on a mesh that was not tried */
    layout                given;       /* on the current mesh */
    double                deadline;    /* by clock_thread() */
    double                share_ends;  /* of the current mesh, likewise */
    int                   meshes;      /* in all */
    int                   meshes_left; /* to be tried, with the current one */
    double                bound;       /* no layout of a mesh that was tried is better */
    const char           *starts; /* rules to begin with: given, and the best of other meshes */
    parts_state           tried;
    bool                  late; /* not all meshes were tried, or not all their layouts */
} finding;

/* ---- texts ---- */

const char *automatic_mesh_text(mtf_session *s, const mesh *m)
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

static worth worth_here(const finding *f, const cost *c)
{
    return worth_of(c, f->opts->smallest, f->opts->limit);
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

/* Its rank among the best: after those that are as good. */
static int rank_of(const finding *f, const cost *c)
{
    const automatic_answer *w = f->answer;
    int                     at = w->n;
    if (worth_here(f, c).above > 0) return f->room;
    while (at > 0 && worth_less(worth_here(f, c), worth_here(f, &w->best[at - 1].cost))) at--;
    return at;
}

/* Keeps only declined rules that the user gave; those that the search found need no report. */
static void forget_found(const finding *f, layout *l)
{
    int n = 0;
    for (int r = 0; r < l->ndeclined; r++)
        for (int k = 0; k < f->given.nstate; k++)
            if (strcmp(f->given.state[k].text, l->declined[r].text) == 0)
                l->declined[n++] = l->declined[r];
    l->ndeclined = n;
}

/* Rules for state that would raise the memory are declined when the layout is used, so its cost is
 * without them. */
static bool decline(finding *f, layout *l, cost *c)
{
    mtf_session  *s = f->graph->session;
    estimate_opts how = {.mesh = l->mesh, .rates = f->opts->rates};
    subject       whole;
    TRY(decline_state_rules(f->planned.graph, f->nfetches, f->planned.fetches, &how, l));
    if (!l->ndeclined) return true;
    arena scratch = arena_make(&s->allocator, &s->fault);
    how.layout = l;
    bool ok = subject_whole(f->planned.graph, f->nfetches, f->planned.fetches, &scratch, &whole) &&
              cost_of(&whole, l, &f->opts->rates, NULL, NULL, c) &&
              estimate_peak(f->planned.graph, f->nfetches, f->planned.fetches, &how, &c->peak);
    arena_free(&scratch);
    forget_found(f, l);
    return ok;
}

/* Inserts x at its rank; false: there is no room for it. */
static bool insert(finding *f, const found_layout *x, int *at)
{
    automatic_answer *w = f->answer;
    *at = rank_of(f, &x->cost);
    if (*at >= f->room) return false;
    if (w->n < f->room) w->n++;
    for (int k = w->n - 1; k > *at; k--) w->best[k] = w->best[k - 1];
    w->best[*at] = *x;
    for (int k = *at; k < w->n; k++) w->best[k].layout.mesh = &w->best[k].mesh;
    return true;
}

static void drop(automatic_answer *w, int at)
{
    for (w->n--; at < w->n; at++) {
        w->best[at] = w->best[at + 1];
        w->best[at].layout.mesh = &w->best[at].mesh;
    }
}

/* Adds the layout to the best, unless it is among them; of equals the earlier one stays first. */
static bool keep(finding *f, const mesh *m, const layout *l, const cost *c, bool *first)
{
    automatic_answer *w = f->answer;
    mtf_session      *s = f->graph->session;
    found_layout      x = {.mesh = *m, .layout = *l, .cost = *c};
    *first = false;
    if (rank_of(f, c) >= f->room) return true;
    TRY(decline(f, &x.layout, &x.cost));
    if (rank_of(f, &x.cost) >= f->room) return true;
    x.mesh_text = automatic_mesh_text(s, m);
    x.layout_text = rules_text(s, l->rules, l->nrules);
    x.state_text = rules_text(s, x.layout.state, x.layout.nstate);
    TRY(x.mesh_text && x.layout_text && x.state_text);
    int at;
    *first = !is_kept(w, &x) && insert(f, &x, &at) && at == 0;
    return true;
}

static bool price_every_kind(const finding *f, found_layout *x)
{
    mtf_session *s = f->graph->session;
    arena        scratch = arena_make(&s->allocator, &s->fault);
    subject      whole;
    bool         known = f->opts->smallest || f->opts->limit || f->opts->tell;
    x->layout.mesh = &x->mesh;
    bool ok = subject_whole(f->planned.graph, f->nfetches, f->planned.fetches, &scratch, &whole) &&
              cost_of_every_kind(&whole, &x->layout, &f->opts->rates, known, &x->cost);
    arena_free(&scratch);
    return ok;
}

/* Processors that were not priced may be slower.  So all are priced in the layout that seems best, until none that
 * seems better is left; and in the others while there is time, else these are not listed. */
static bool settle(finding *f)
{
    automatic_answer *w = f->answer;
    for (int k = 0, at; k < w->n;) {
        found_layout x = w->best[k];
        if (!x.cost.sampled) {
            k++;
            continue;
        }
        drop(w, k);
        if (k > 0 && clock_thread() > f->deadline + OVERTIME) continue;
        TRY(price_every_kind(f, &x));
        insert(f, &x, &at);
    }
    return true;
}

static bool search_mesh(finding *f, const layout *given, int64_t limit, int want, double deadline)
{
    search_opts o = {.given = given,
                     .rates = f->opts->rates,
                     .smallest = f->opts->smallest,
                     .limit = limit,
                     .want = want,
                     .starts = f->starts,
                     .work = f->opts->work,
                     .deadline = deadline,
                     .gives_up = f->tried == PARTS_FIRST && limit && !given->asks_state,
                     .waits = f->meshes > 1,
                     .tell = f->opts->tell,
                     .context = f->opts->context};
    TRY(search_layout(f->graph, f->nfetches, f->fetches, &o, f->last));
    f->late = f->late || f->last->late;
    return true;
}

static bool hear_state(void *context, const layout *l, const cost *c)
{
    finding *f = context;
    bool     first;
    TRY(keep(f, l->mesh, l, c, &first));
    if (first) f->answer->search = *f->last;
    return !f->opts->tell || f->opts->tell(f->opts->context, l, c);
}

/* Tries rules for state on the best layouts first. */
static bool try_state(finding *f, const layout *given, const search_answer *first)
{
    state_task t = {.graph = f->graph,
                    .nfetches = f->nfetches,
                    .fetches = f->fetches,
                    .given = given,
                    .rates = f->opts->rates,
                    .smallest = f->opts->smallest,
                    .limit = f->opts->limit,
                    .first = first,
                    .work = f->opts->work,
                    .deadline = f->share_ends,
                    .tell = hear_state,
                    .context = f};
    TRY(state_search(&t));
    f->late = f->late || t.late;
    f->state_bound = fmin(f->state_bound, t.bound);
    f->state_root = t.root;
    return true;
}

/* What is best on one mesh is tried on the others: groups of dimensions that one axis cuts. */
static bool begin_with_best(finding *f)
{
    textbuf t = {.arena = &f->graph->session->arena};
    if (f->meshes_left <= 1 || !f->answer->n) return true;
    text_add(&t, "%s|%s", f->answer->best[0].layout_text, f->opts->starts ? f->opts->starts : "");
    f->starts = text_done(&t);
    return f->starts != NULL;
}

/* Meshes share the time that is left.  One that comes after the deadline is not tried once something is
 * found: then only what is true of all meshes bounds it. */
static bool may_begin(finding *f)
{
    double left = f->deadline - clock_thread();
    f->share_ends = f->deadline - left + left / f->meshes_left;
    if (!f->answer->n || left > 0) return true;
    f->bound = fmin(f->bound, f->last->root);
    f->state_bound = fmin(f->state_bound, f->state_root);
    return !(f->late = true);
}

/* Keeps what the search of a mesh found and fits. */
static bool keep_found(finding *f, const mesh *m)
{
    bool first;
    f->bound = fmin(f->bound, f->last->bound);
    for (int k = 0; k < f->last->n; k++) {
        const candidate *x = &f->last->best[k];
        TRY(keep(f, m, &x->layout, &x->cost, &first));
        if (first) f->answer->search = *f->last;
    }
    return true;
}

/* Rules for state may make what does not fit without them fit, so layouts are found without the limit, in half of the
 * time; where the best of them does not fit by itself, also within it. */
static bool search_with_state(finding *f, const mesh *m)
{
    const layout  *given = &f->given;
    int            want = f->room > TRIED_WITH_STATE ? f->room : TRIED_WITH_STATE;
    int64_t        limit = f->opts->limit;
    double         now = clock_thread(), half = now + (f->share_ends - now) / 2;
    search_answer *first = arena_new(&f->graph->session->arena, search_answer);
    TRY(first && search_mesh(f, given, 0, want, limit ? now + (half - now) / 2 : half));
    *first = *f->last;
    TRY(keep_found(f, m));
    if (limit && (!first->n || first->best[0].cost.peak > limit))
        TRY(search_mesh(f, given, limit, f->room, half) && keep_found(f, m));
    if (first->n > TRIED_WITH_STATE) first->n = TRIED_WITH_STATE;
    return try_state(f, given, first);
}

/* A rule without axes: the dimension is not cut. */
static bool keep_whole(mtf_session *s, const char *dim, layout *l)
{
    if (layout_find(l, dim)) return true;
    layout_rule *rules = arena_array(&s->arena, layout_rule, l->nrules + 1);
    TRY(rules != NULL);
    memcpy(rules, l->rules, sizeof *rules * (size_t)l->nrules);
    rules[l->nrules++] = (layout_rule){.dim = dim, .text = ""};
    l->rules = rules;
    return true;
}

static bool search_here(finding *f, const mesh *m)
{
    const automatic_opts *o = f->opts;
    mtf_session          *s = f->graph->session;
    f->answer->meshes++;
    TRY(layout_parse(s, o->layout, m, &f->given) &&
        layout_parse_state(s, o->state_layout, &f->given));
    if (o->whole_batch) TRY(keep_whole(s, "batch", &f->given));
    if (f->given.asks_state) return search_with_state(f, m);
    return search_mesh(f, &f->given, o->limit, f->room, f->share_ends) && keep_found(f, m);
}

static bool try_mesh(finding *f, const mesh *m)
{
    bool ok = !may_begin(f) || (search_here(f, m) && begin_with_best(f));
    f->meshes_left--;
    return ok;
}

typedef struct mesh_list {
    arena *arena;
    mesh  *list;
    int    n, room;
} mesh_list;

static int largest_axis(const mesh *m)
{
    int most = 0;
    for (int a = 0; a < m->naxes; a++) most = m->size[a] > most ? m->size[a] : most;
    return most;
}

/* The squarest meshes come first: most dimensions can be cut along axes that are not too long. */
static bool list_mesh(void *context, const mesh *m)
{
    mesh_list *l = context;
    TRY(arena_push(l->arena, l->list, l->n, l->room));
    int at = l->n++;
    for (; at > 0 && largest_axis(&l->list[at - 1]) > largest_axis(m); at--)
        l->list[at] = l->list[at - 1];
    l->list[at] = *m;
    return true;
}

/* 2x8 and 8x2 differ where rules or the machine name axes, or there are nodes. */
static bool order_matters(const automatic_opts *o)
{
    return o->rates.node || o->rates.naxes || (o->layout && strchr(o->layout, ':')) ||
           (o->state_layout && strchr(o->state_layout, ':'));
}

bool automatic_meshes(mtf_session *s, const automatic_opts *o, mesh **list, int *n)
{
    mesh_list all = {.arena = &s->arena};
    mesh      m;
    int       axes = o->most_axes > 0 ? o->most_axes : 2;
    TRY(mesh_parse(s, o->mesh ? o->mesh : "", &m));
    TRY(mesh_asks(&m) ? shapes_visit(s, mesh_size(&m), axes, order_matters(o), list_mesh, &all)
                      : list_mesh(&all, &m));
    *list = all.list;
    *n = all.n;
    return true;
}

static bool try_all(finding *f)
{
    const char *m = f->opts->mesh;
    mesh       *list;
    TRY(automatic_meshes(f->graph->session, f->opts, &list, &f->meshes_left));
    f->answer->mesh_found = m && strncmp(m, "auto:", 5) == 0;
    f->meshes = f->meshes_left;
    for (int k = 0, n = f->meshes_left; k < n; k++) TRY(try_mesh(f, &list[k]));
    return true;
}

/* ---- nothing fits ---- */

static bool find_once(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                      const automatic_opts *opts, parts_state parts, automatic_answer *answer);

/* The layout of least memory on the mesh or meshes that `m` describes; a short search. */
static bool find_smallest(const finding *f, const char *m, automatic_answer *least)
{
    automatic_opts o = *f->opts;
    o.mesh = m;
    o.smallest = true;
    o.limit = 0;
    o.want = 1;
    o.tell = NULL;
    o.work = HASTE;
    return find_once(f->graph, f->nfetches, f->fetches, &o, PARTS_GIVEN, least);
}

/* The mesh with `times` times the processors along an axis; NULL where there are too many. */
static const char *times_mesh(mtf_session *s, const char *text, int axis, int times)
{
    mesh m;
    if (!mesh_parse(s, text ? text : "", &m) || axis >= m.naxes) return NULL;
    if ((int64_t)mesh_size(&m) * times > MAX_PROCESSORS) return NULL;
    m.size[axis] *= times;
    return automatic_mesh_text(s, &m);
}

/* The text of a mesh that fits, with 2 or 4 times the processors along an axis; or NULL. */
static const char *larger_mesh(const finding *f)
{
    automatic_answer least;
    const char      *more;
    for (int times = 2; times <= 16; times *= 2)
        for (int a = 0; (more = times_mesh(f->graph->session, f->opts->mesh, a, times)); a++) {
            if (clock_thread() > f->deadline || !find_smallest(f, more, &least)) return NULL;
            if (least.best[0].cost.peak <= f->opts->limit) return more;
        }
    return NULL;
}

/* The number of parts that needs least: more of them have smaller activations, but gradients of their own. */
static bool choose_parts(finding *f, automatic_answer *least)
{
    mtf_graph *g = f->graph;
    int64_t    best = g->parts;
    for (int64_t n = best / 2; n >= 1 && clock_thread() < f->deadline; n /= 2) {
        automatic_answer other;
        g->parts = n;
        TRY(find_smallest(f, f->opts->mesh, &other));
        if (other.best[0].cost.peak > least->best[0].cost.peak) continue;
        *least = other;
        best = n;
    }
    g->parts = best;
    return microbatch_graph(g, f->nfetches, f->fetches, &f->planned);
}

/* The layout of least memory may fit where the search for the least time has found nothing, since
 * that tries rules for state on a few layouts only.  Then it is the answer, without a proof. */
static bool nothing_fits(finding *f)
{
    mtf_session     *s = f->graph->session;
    automatic_answer least;
    TRY(find_smallest(f, f->opts->mesh, &least));
    const found_layout *x = &least.best[0];
    if (x->cost.peak <= f->opts->limit) {
        least.search.gap = 1;
        *f->answer = least;
        return true;
    }
    if (f->tried == PARTS_LAST) TRY(choose_parts(f, &least));
    x = &least.best[0];
    const char *more = larger_mesh(f);
    textbuf     with = {.arena = &s->arena};
    if (least.mesh_found) text_add(&with, "mesh %s with ", x->mesh_text);
    text_add(&with, "\"%s\"", x->layout_text);
    if (*x->state_text) text_add(&with, " and state \"%s\"", x->state_text);
    const char   *words = text_done(&with);
    textbuf       advice = {.arena = &s->arena};
    estimate_opts how = {.mesh = &x->mesh, .layout = &x->layout, .processor = -1};
    how.rates = f->opts->rates;
    TRY(mtf_ok(s) && words);
    if (more)
        text_add(&advice, "it would fit on mesh %s", more);
    else
        TRY(memory_floor_write(f->graph, f->planned.graph, f->nfetches, f->planned.fetches, &how,
                               f->opts->limit, &advice));
    const char *what = text_done(&advice);
    TRY(what != NULL);
    return fail(&s->fault, ERR_MEMORY,
                "no layout%s%s fits: a processor may use %lld bytes, and the smallest "
                "layout%s, %s, needs %lld, which is %lld too many; %s",
                *f->opts->mesh ? " on mesh " : "", f->opts->mesh, (long long)f->opts->limit,
                least.search.gap > 0 ? " found" : "", words, (long long)x->cost.peak,
                (long long)(x->cost.peak - f->opts->limit), what);
}

/* The bound is over all meshes, and over rules for state where these were searched. */
static void prove(const finding *f)
{
    search_answer *w = &f->answer->search;
    double         best = worth_here(f, &f->answer->best[0].cost).value;
    w->bound = isinf(f->state_bound) ? f->bound : f->state_bound;
    if (best > w->bound * (1 + SAME_PRICE)) w->gap = fmax(w->gap, (best - w->bound) / best);
}

/* One search; `answer` has no layouts where nothing fits. */
static bool find_once(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                      const automatic_opts *opts, parts_state tried, automatic_answer *answer)
{
    mtf_session *s = g->session;
    finding      f = {.graph = g,
                      .nfetches = nfetches,
                      .fetches = fetches,
                      .opts = opts,
                      .answer = answer,
                      .deadline = clock_thread() + (opts->seconds > 0 ? opts->seconds : SECONDS),
                      .starts = opts->starts,
                      .tried = tried,
                      .bound = INFINITY,
                      .state_bound = INFINITY,
                      .state_root = INFINITY};
    *answer = (automatic_answer){0};
    f.room = opts->want < 1 ? 1 : opts->want < MOST_KEPT ? opts->want : MOST_KEPT;
    answer->best = arena_array(&s->arena, found_layout, f.room + 1);
    f.last = arena_new(&s->arena, search_answer);
    TRY(answer->best && f.last && microbatch_graph(g, nfetches, fetches, &f.planned) &&
        try_all(&f) && settle(&f));
    if (answer->n == 0) return tried == PARTS_FIRST || nothing_fits(&f);
    answer->search.late = f.late;
    prove(&f);
    return true;
}

/* A search that has little time may find nothing that fits in so many parts, although what it finds with more
 * of them does.  Then it begins once more with that, in the fewest parts, in which the layout would run. */
static bool in_fewest_parts(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                            const automatic_opts *opts, automatic_answer *answer)
{
    arena *a = &g->session->arena;
    for (int64_t now = g->parts; now > 1; now = g->parts) {
        const found_layout *x = &answer->best[0];
        estimate_opts       o = {.mesh = &x->mesh, .layout = &x->layout, .rates = opts->rates};
        automatic_opts      from = *opts;
        automatic_answer    better;
        textbuf             starts = {.arena = a};
        TRY(microbatch_fewest(g, nfetches, fetches, &o, opts->limit));
        if (g->parts >= now) {
            g->parts = now;
            return true;
        }
        text_add(&starts, "%s|%s", x->layout_text, opts->starts ? opts->starts : "");
        from.starts = text_done(&starts);
        TRY(from.starts && find_once(g, nfetches, fetches, &from, PARTS_FIRST, &better));
        if (better.n == 0) {
            g->parts = now;
            return true;
        }
        *answer = better;
    }
    return true;
}

/* Where it is open how many parts the batch comes in, as few are taken as let some layout fit: 1, 2, 4, ... if
 * it divides. */
bool automatic_find(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                    const automatic_opts *opts, automatic_answer *answer)
{
    bool divides;
    if (!g->batch.name || g->parts > 0)
        return find_once(g, nfetches, fetches, opts, PARTS_GIVEN, answer);
    TRY(microbatch_divides(g, nfetches, fetches, &divides));
    for (int64_t n = 1;; n *= 2) {
        bool last = !divides || n * 2 > g->batch.size;
        g->parts = n;
        TRY(find_once(g, nfetches, fetches, opts, last ? PARTS_LAST : PARTS_FIRST, answer));
        if (answer->n > 0) return in_fewest_parts(g, nfetches, fetches, opts, answer);
        if (last) return true;
    }
}
