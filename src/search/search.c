/* The search: the best layout of a graph on a mesh, and a proof. */
#include "search/search.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/free_list.h"
#include "price/estimate.h"
#include "price/links.h"
#include "search/descent.h"
#include "search/price_cache.h"
#include "search/starts.h"

/* Small graphs are searched whole.  WORK is the most nodes to plan where there is no deadline. */
enum { SMALL_GRAPH = 150, WORK = 3 * 1000 * 1000 };
/* Leaves in a list, and in one without bounds; how many of an incomplete list are priced; lists. */
enum { SOME_LEAVES = 500, MOST_LEAVES = 1000 * 1000, SOME = 16, ROUNDS = 200 };
enum { MOST_EXTRA = 60 }; /* layouts priced only to find the runners-up */
enum { MOST_EXACT = 4 };  /* more than the wanted ones that are priced for every processor */
#define CLOSE 1e-4        /* a gap that is small enough */
#define OVERTIME 5.0      /* seconds after the deadline */

typedef struct search {
    const search_opts *opts;
    search_answer     *answer;
    mtf_session       *session;
    arena             *scratch;
    free_list          memory;                /* memory of the programs that are planned */
    subject            whole, reduced, fewer; /* fewer: one copy less, to see what a copy adds */
    space              space;
    parts              parts;
    symmetry           symmetry;
    leaves             leaves;
    int                order[MAX_SEARCHED];
    layout_rule       *rules;     /* of the current layout */
    int64_t            work;      /* nodes planned so far */
    bool               others;    /* the best is known: the runners-up are listed */
    int                extra;     /* layouts priced only for that */
    candidates         kept;      /* those that fit */
    price_cache        priced;    /* of all that were priced */
    int                corrected; /* of these, those that need more memory than first priced:
                                     on another processor, or with all layers */
    bool               again;     /* the correction matters, so the search continues */
    int64_t            limit;     /* of memory, as far as the search knows it; 0: none */
    double             begun;     /* by clock_thread() */
} search;

/* ---- preparing ---- */

static bool alike(const search *s, int a, int b)
{
    const mesh *m = s->space.mesh;
    if (m->size[a] != m->size[b] || !links_alike(&s->opts->rates, m, a, b)) return false;
    for (int r = 0; r < s->opts->given->nrules + s->opts->given->nstate; r++) {
        const layout      *l = s->opts->given;
        const layout_rule *rule = r < l->nrules ? &l->rules[r] : &l->state[r - l->nrules];
        if (cut_axes(&rule->cut) & (1u << a | 1u << b)) return false;
    }
    return true;
}

static void find_symmetry(search *s)
{
    const mesh *m = s->space.mesh;
    symmetry   *y = &s->symmetry;
    for (int a = 0; a < m->naxes; a++)
        for (int b = a + 1; b < m->naxes; b++)
            if (m->size[a] > 1 && alike(s, a, b)) y->a[y->n] = a, y->b[y->n++] = b;
}

/* Dimensions of the products that take longest come first, then those of large tensors. */
static void order_dims(search *s)
{
    double weight[MAX_SEARCHED] = {0};
    int    n = s->space.ndims;
    for (int k = 0; k < s->parts.products.n; k++) {
        const extent *x = &s->parts.products.list[k];
        for (int d = 0; d < x->ndims; d++) weight[x->dim[d]] += x->amount;
    }
    for (int i = 0; i < n; i++) {
        int k = i;
        for (; k > 0; k--) {
            int other = s->order[k - 1];
            if (weight[other] > weight[i] ||
                (weight[other] == weight[i] &&
                 s->space.dims[other].largest >= s->space.dims[i].largest))
                break;
            s->order[k] = other;
        }
        s->order[k] = i;
    }
}

static bool memory_matters(const search *s)
{
    return s->opts->smallest || s->opts->limit || s->opts->tell;
}

/* A layout that is too slow need not be priced further: nothing but the time of the best is asked for. */
static bool time_decides(const search *s)
{
    return !s->opts->smallest && !s->opts->tell && !s->opts->plain;
}

static bool prepare_search(search *s, mtf_graph *g, int nfetches, mtf_tensor *const *fetches)
{
    const search_opts *o = s->opts;
    TRY(subject_whole(g, nfetches, fetches, s->scratch, &s->whole));
    s->whole.memory = &s->memory.as;
    TRY(space_make(g, s->whole.survey.live, o->given, s->scratch, &s->space));
    s->reduced = s->fewer = s->whole;
    if (g->nnodes > SMALL_GRAPH && !o->plain) {
        TRY(subject_reduce(&s->whole, true, s->scratch, &s->reduced));
        if (s->reduced.copies && memory_matters(s))
            TRY(subject_reduce(&s->whole, false, s->scratch, &s->fewer));
    }
    TRY(subject_divide(&s->whole, s->scratch) && subject_divide(&s->reduced, s->scratch) &&
        subject_divide(&s->fewer, s->scratch));
    s->reduced.quick = s->reduced.copies && !memory_matters(s); /* the best are priced whole */
    s->answer->layers_left_out = s->reduced.copies ? s->reduced.copies - COPIES_KEPT : 0;
    s->rules = arena_array(s->scratch, layout_rule, s->space.ndims + o->given->nrules + 1);
    TRY(s->rules && parts_make(&s->parts, &s->space, &s->reduced, &o->rates, s->scratch));
    s->leaves.space = &s->space;
    s->priced.arena = s->scratch;
    if (!o->plain) find_symmetry(s);
    order_dims(s);
    return true;
}

/* ---- pricing ---- */

static bool add_copies(search *s, const layout *l, cost *c)
{
    if (!s->reduced.copies || !memory_matters(s)) return true;
    s->work += s->fewer.graph->nnodes;
    return cost_add_copies(&s->reduced, &s->fewer, l, &s->opts->rates, c);
}

/* Of the k-th best that is kept; seconds or bytes. */
static double value_kept(const search *s, int k)
{
    return k < s->kept.n ? candidate_value(&s->kept, &s->kept.list[k]) : INFINITY;
}

static int wanted(const search *s)
{
    int want = s->opts->want;
    return want < 1 ? 1 : want < MOST_KEPT ? want : MOST_KEPT;
}

/* A layout must be better than this to matter: than the best, or, once that is known, than the last of
 * the wanted ones. */
static double to_beat(const search *s)
{
    return value_kept(s, s->others ? wanted(s) - 1 : 0);
}

/* The exact price, or of a layout that is too slow anyway as much as shows that. */
static bool price_anew(search *s, const cuts *c, cost *x)
{
    layout l;
    double beat = time_decides(s) ? to_beat(s) : INFINITY;
    TRY(space_layout(&s->space, c, s->rules, NULL, &l));
    s->reduced.enough = isinf(beat) ? 0 : beat;
    TRY(parts_price(&s->parts, c, &l, &s->opts->rates, x));
    s->work += (int64_t)s->reduced.graph->nnodes * x->programs;
    x->rough = x->seconds > beat;
    return x->rough || add_copies(s, &l, x);
}

/* A layout that was priced before is taken from the cache. */
static bool price_cuts(search *s, const cuts *c, cost *x)
{
    cost *known = price_cache_find(&s->priced, c);
    if (known && (!known->rough || known->seconds > to_beat(s))) {
        *x = *known;
        return true;
    }
    TRY(price_anew(s, c, x));
    if (known)
        *known = *x;
    else
        s->answer->priced++;
    return known || price_cache_add(&s->priced, c, x);
}

/* Prices, and keeps what fits. */
static bool try_cuts(search *s, const cuts *c, cost *x)
{
    TRY(price_cuts(s, c, x));
    if (!s->limit || x->peak <= s->limit)
        candidates_add(&s->kept, &(candidate){.cuts = *c, .cost = *x});
    return true;
}

/* ---- bounds ---- */

/* Rules for state may cut variables further, so these do not count in the bound. */
static double bytes_bound(const search *s, const cuts *c, uint64_t decided)
{
    double bytes = extents_least(&s->space, &s->parts.alive, c, decided);
    if (s->opts->given->nstate) return bytes;
    return bytes + extents_least(&s->space, &s->parts.stored, c, decided);
}

/* The value of a layout that was priced; one that cannot win need not be listed again. */
static double known_value(const search *s, const cost *known)
{
    if (s->limit && known->peak > s->limit) return INFINITY;
    return s->opts->smallest ? (double)known->peak : known->seconds;
}

static double bound(const void *context, const cuts *c, uint64_t decided)
{
    const search      *s = context;
    const search_opts *o = s->opts;
    const cost        *known = decided == EVERY_SEARCHED ? price_cache_find(&s->priced, c) : NULL;
    if (o->plain) return 0;
    if (known) return known_value(s, known);
    double bytes = memory_matters(s) ? bytes_bound(s, c, decided) : 0;
    if (s->limit && bytes > (double)s->limit) return INFINITY;
    if (o->smallest) return bytes;
    return parts_bound(&s->parts, c, decided);
}

static int64_t most_work(const search *s)
{
    return s->opts->work ? s->opts->work : s->opts->deadline > 0 ? INT64_MAX : WORK;
}

static bool is_hopeless(const search *s)
{
    double half = s->begun + (s->opts->deadline - s->begun) / 2;
    if (!s->opts->gives_up || s->kept.n) return false;
    return s->work > most_work(s) / 2 || (s->opts->deadline > 0 && clock_thread() > half);
}

static bool out_of_time(search *s)
{
    if (s->opts->plain) return false;
    if (s->opts->deadline > 0 && clock_thread() > s->opts->deadline) s->answer->late = true;
    return s->work > most_work(s) || s->answer->late || s->extra > MOST_EXTRA || is_hopeless(s);
}

/* Prices leaves until none can be better, but only SOME of an incomplete list: the costs that they
 * record may exclude others.  `left`: the least bound that remains. */
static bool try_leaves(search *s, double *left)
{
    leaves *l = &s->leaves;
    int     most = l->full && !s->opts->smallest ? s->answer->priced + SOME : INT_MAX;
    *left = INFINITY;
    while (l->n && !out_of_time(s) && s->answer->priced < most) {
        leaf x = leaves_pop(l);
        x.bound = bound(s, &x.cuts, EVERY_SEARCHED);
        if (l->n &&
            x.bound > l->heap[0].bound * (1 + SAME_PRICE)) { /* costs recorded since raised it */
            if (x.bound <= to_beat(s) * (1 + SAME_PRICE)) leaves_push(l, &x);
            continue;
        }
        if (x.bound > to_beat(s) * (1 + SAME_PRICE)) return true;
        int  before = s->answer->priced;
        cost c;
        TRY(try_cuts(s, &x.cuts, &c));
        if (s->others) s->extra += s->answer->priced - before;
    }
    if (l->n) *left = l->heap[0].bound;
    return true;
}

static bool price_step(void *context, const cuts *c, worth *w)
{
    search *s = context;
    cost    x;
    if ((s->kept.n || s->opts->gives_up) && out_of_time(s)) {
        *w = (worth){INFINITY, INFINITY, INFINITY};
        return true;
    }
    TRY(try_cuts(s, c, &x));
    *w = worth_of(&x, s->opts->smallest, s->limit);
    return true;
}

static bool descend_from(search *s, const cuts *start)
{
    descent d = {.space = &s->space,
                 .symmetry = &s->symmetry,
                 .order = s->order,
                 .ask = price_step,
                 .bound = bound,
                 .context = s};
    return descend(&d, start);
}

/* Prices layouts that people write, and improves the best of them step by step, and the one that cuts
 * nothing but what is given. */
static bool begin_well(search *s)
{
    cuts *list, none = {0};
    int   n;
    cost  x;
    TRY(starts_list(&s->space, s->opts->starts, s->scratch, &list, &n));
    for (int d = 0; d < s->space.ndims; d++)
        if (s->space.dims[d].fixed) none.of[d] = (uint8_t)cut_axes(&s->space.dims[d].cut);
    for (int k = 0; k < n; k++) {
        space_make_canonical(&s->space, &s->symmetry, &list[k]);
        if (s->kept.n && out_of_time(s)) break;
        if (bound(s, &list[k], EVERY_SEARCHED) < value_kept(s, 0)) TRY(try_cuts(s, &list[k], &x));
    }
    cuts best = s->kept.n ? s->kept.list[0].cuts : none;
    if (s->kept.n) TRY(descend_from(s, &best));
    return descend_from(s, &none);
}

/* Of a large graph of which only the time matters, the best is known to a fraction of what its equal layers
 * leave open: the rest of the proof is not worth its time. */
static bool is_close(const search *s, double bound)
{
    return s->reduced.copies && time_decides(s) && value_kept(s, 0) * (1 - CLOSE) < bound;
}

/* First finds a local optimum, whose price is a bound; then tries all layouts that may be better.
 * Where these are too many to list, some are priced, and the recorded costs of their parts shorten
 * the next list. */
static bool try_all(search *s)
{
    leaves *l = &s->leaves;
    cuts    none = {0};
    double  root = bound(s, &none, 0), threshold = 1.25 * root, left = INFINITY;
    s->answer->root = root > 0 && !isinf(root) ? root : 0;
    if (!(root > 0) || isinf(root)) threshold = INFINITY;
    if (!s->opts->plain && !s->corrected) TRY(begin_well(s));
    if (s->kept.n) threshold = to_beat(s);
    for (int round = 0;; round++) {
        int most = s->opts->plain ? MOST_LEAVES : SOME_LEAVES;
        TRY(leaves_list(l, &s->symmetry, s->order, threshold * (1 + SAME_PRICE), most, bound, s,
                        s->scratch));
        if (l->counted > s->answer->considered) s->answer->considered = l->counted;
        TRY(try_leaves(s, &left));
        double goal = to_beat(s);
        bool   all = !l->full && (goal <= threshold || isinf(threshold));
        if (all || out_of_time(s) || round == ROUNDS || is_close(s, fmin(left, l->beyond))) break;
        if (!isinf(goal))
            threshold = goal;
        else if (!l->full)
            threshold = threshold > 1e6 * root ? INFINITY : 4 * threshold;
    }
    if (s->answer->priced > s->answer->considered) s->answer->considered = s->answer->priced;
    s->answer->bound = fmin(value_kept(s, 0), fmin(left, l->beyond));
    return true;
}

/* Prices layouts that may be among the best, after the best itself: that does not depend on how many are
 * wanted. */
static bool list_others(search *s)
{
    double left;
    if (wanted(s) == 1 || s->opts->plain) return true;
    s->others = true;
    bool ok = leaves_list(&s->leaves, &s->symmetry, s->order, to_beat(s) * (1 + SAME_PRICE),
                          SOME_LEAVES, bound, s, s->scratch) &&
              try_leaves(s, &left);
    s->others = false;
    s->extra = 0;
    return ok;
}

/* ---- the answer ---- */

static bool write_layout(search *s, candidate *x)
{
    arena       *a = &s->session->arena;
    layout_rule *rules = arena_array(a, layout_rule, s->space.ndims + s->opts->given->nrules + 1);
    return rules && space_layout(&s->space, &x->cuts, rules, a, &x->layout);
}

/* Prices the whole graph with all layers, so that the reported cost is exact. */
static bool price_whole(search *s, const candidate *from, candidate *x)
{
    *x = *from;
    TRY(write_layout(s, x));
    if (s->reduced.copies)
        TRY(cost_of(&s->whole, &x->layout, &s->opts->rates, NULL, NULL, &x->cost));
    double error = fabs(x->cost.seconds - from->cost.seconds) / x->cost.seconds;
    s->answer->reduced_error = fmax(s->answer->reduced_error, error);
    return true;
}

static bool fits(const search *s, const candidate *x)
{
    return !s->opts->limit || x->cost.peak <= s->opts->limit;
}

/* Finds the memory of the processor that needs most.  Where that is more than the search assumed,
 * the layout is corrected and ranked again. */
static bool find_peak(search *s, candidate *x)
{
    const subject *w = &s->whole;
    estimate_opts  o = {
         .mesh = s->space.mesh, .layout = &x->layout, .rates = s->opts->rates, .memory = w->memory};
    cost *believed = price_cache_find(&s->priced, &x->cuts);
    TRY(estimate_peak(w->graph, w->nfetches, w->fetches, &o, &x->cost.peak));
    if (x->cost.peak <= believed->peak) return true;
    believed->peak = x->cost.peak;
    candidates_drop(&s->kept, &x->cuts);
    s->corrected++;
    s->again = s->again || s->opts->smallest || !fits(s, x);
    return true;
}

/* Too slow to be the best, even if its price is wrong by twice the largest error seen so far. */
static bool too_far(const search *s, const candidates *exact, const candidate *x)
{
    double best = candidate_value(exact, &exact->list[0]);
    return time_decides(s) &&
           candidate_value(exact, x) * (1 - 2 * s->answer->reduced_error) > best * (1 + SAME_PRICE);
}

/* Is the time over that the end of the search may take after the deadline?  As long as the search itself took, up to
 * OVERTIME; none where others wait. */
static bool is_overdue(const search *s)
{
    double allowed = fmin(s->opts->deadline - s->begun, OVERTIME);
    return s->opts->deadline > 0 &&
           clock_thread() > s->opts->deadline + (s->opts->waits ? 0 : allowed);
}

/* A layout that is not priced whole may be better than others, as far as its price can be wrong. */
static void leave_open(search *s, const candidate *x)
{
    double least = candidate_value(&s->kept, x) * (1 - 2 * s->answer->reduced_error);
    s->answer->bound = fmin(s->answer->bound, least);
}

/* Where layers were left out, or some processors, more layouts than wanted are priced whole: their order may
 * change.  On meshes so large that this takes too long, the best as far as known is, and whoever asked prices every
 * kind of processor. */
static bool finish_search(search *s)
{
    search_answer *w = s->answer;
    candidates     few = {.space = &s->space, .smallest = s->opts->smallest}, sure = few;
    candidate      x;
    int            want = wanted(s), spare = MOST_EXACT;
    bool           inexact = s->reduced.copies > 0;
    for (int k = 0; k < s->kept.n && (k < want || inexact); k++) {
        if (k >= want && too_far(s, &few, &s->kept.list[k])) break;
        if (few.n > 0 && inexact && is_overdue(s)) {
            leave_open(s, &s->kept.list[k]);
            break;
        }
        bool   full = few.n >= want;
        double last = full && time_decides(s) ? candidate_value(&few, &few.list[want - 1]) : 0;
        s->whole.enough = last;
        TRY(price_whole(s, &s->kept.list[k], &x));
        inexact |= x.cost.sampled;
        bool matters = last == 0 || x.cost.seconds < last;
        if (full && matters && x.cost.sampled && spare-- <= 0) {
            leave_open(s, &x);
            continue;
        }
        if (matters && x.cost.sampled && !is_overdue(s))
            TRY(cost_of_every_kind(&s->whole, &x.layout, &s->opts->rates, memory_matters(s),
                                   &x.cost));
        candidates_add(&few, &x);
    }
    for (int k = 0; k < few.n && sure.n < want; k++) {
        if (memory_matters(s)) TRY(find_peak(s, &few.list[k]));
        if (fits(s, &few.list[k])) candidates_add(&sure, &few.list[k]);
    }
    w->n = sure.n;
    memcpy(w->best, sure.list, sizeof w->best);
    w->contradictions = s->parts.contradictions;
    double best = sure.n ? candidate_value(&sure, &sure.list[0]) : 0;
    w->gap = best > w->bound * (1 + SAME_PRICE) ? (best - w->bound) / best : 0;
    if (s->space.left_out && w->gap == 0) w->gap = 1; /* their cuts were not tried */
    return true;
}

/* Without time for another search, something else that was priced may fit. */
static bool try_known(search *s)
{
    for (s->again = true; s->again && !s->answer->n;) {
        s->again = false;
        for (int k = 0; k < s->priced.n; k++) {
            cuts c = s->priced.list[k].cuts;
            cost x;
            TRY(try_cuts(s, &c, &x));
        }
        if (s->kept.n) TRY(finish_search(s));
    }
    return true;
}

/* A layout that seemed to fit may not: then the search continues, finally with a lower limit. */
static bool try_until_it_fits(search *s)
{
    enum { ATTEMPTS = 12, EXACT = 8 };
    s->limit = s->opts->limit;
    s->kept = (candidates){.space = &s->space, .smallest = s->opts->smallest};
    for (int k = 0; k < ATTEMPTS; k++) {
        s->again = false;
        TRY(try_all(s) && list_others(s) && finish_search(s));
        if (s->again && out_of_time(s)) return try_known(s);
        if (!s->again) break;
        if (k < EXACT) continue;
        if (s->answer->n) break;
        s->limit -= s->limit / 20;
    }
    return true;
}

static bool tell_all(search *s)
{
    for (int k = 0; s->opts->tell && k < s->priced.n; k++) {
        candidate x = {.cuts = s->priced.list[k].cuts, .cost = s->priced.list[k].cost};
        TRY(write_layout(s, &x) && s->opts->tell(s->opts->context, &x.layout, &x.cost));
    }
    return true;
}

bool search_layout(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const search_opts *opts,
                   search_answer *answer)
{
    mtf_session *session = g->session;
    arena        scratch = arena_make(&session->allocator, &session->fault);
    search      *s = arena_new(&scratch, search);
    *answer = (search_answer){0};
    bool ok = s != NULL;
    if (ok) {
        *s = (search){.opts = opts,
                      .answer = answer,
                      .session = session,
                      .scratch = &scratch,
                      .begun = clock_thread()};
        free_list_open(&s->memory, &session->allocator);
        ok = prepare_search(s, g, nfetches, fetches) && try_until_it_fits(s) && tell_all(s);
        free_list_close(&s->memory);
    }
    arena_free(&scratch);
    return ok;
}
