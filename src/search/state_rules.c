/* Rules that cut stored state further than a layout does. */
#include "search/state_rules.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "ops/state.h"
#include "price/decline.h"
#include "price/estimate.h"

enum { MOST_PAIRS = 48, ALL_SETS_OF = 12, MOST_TRIED = 1024, MOST_NEAR = 6 };
#define NEAR 0.06  /* what the price without equal layers may miss */
#define WRONG 0.01 /* more than that is too much for choosing by it alone */

/* A rule: this dimension along this axis. */
typedef struct pair {
    const char *dim;
    int         axis;
} pair;

typedef struct tries {
    state_opts *opts;
    layout     *layout; /* its state rules: the given ones, then those being tried */
    int         given;
    pair        pairs[MOST_PAIRS]; /* by name and axis */
    int         npairs;
    uint64_t    seen[MOST_TRIED]; /* hashes of where variables were under the sets tried */
    int         nseen;
    uint64_t    best; /* a set of pairs */
    worth       worth;
    struct {
        uint64_t set;
        worth    worth;
    } near[MOST_NEAR]; /* others that the whole graph may prefer, the best first */
    int nnear;
} tries;

/* ---- the choices ---- */

static void add_pair(tries *t, const char *dim, int axis)
{
    int at = 0;
    while (at < t->npairs && strcmp(t->pairs[at].dim, dim) < 0) at++;
    while (at < t->npairs && strcmp(t->pairs[at].dim, dim) == 0 && t->pairs[at].axis < axis) at++;
    bool there = at < t->npairs && strcmp(t->pairs[at].dim, dim) == 0 && t->pairs[at].axis == axis;
    if (there || t->npairs == MOST_PAIRS) return;
    memmove(&t->pairs[at + 1], &t->pairs[at], sizeof(pair) * (size_t)(t->npairs++ - at));
    t->pairs[at] = (pair){dim, axis};
}

/* Where the current rules put a variable of this shape between steps. */
static placement home_of(const tries *t, const mtf_shape *shape)
{
    placement where;
    layout_place(t->layout, shape, "", NULL, &where);
    layout_refine(t->layout, shape, &where);
    return where;
}

/* A rule that the user gave for a dimension is not changed. */
static bool is_given(const tries *t, const char *dim)
{
    for (int r = 0; r < t->given; r++)
        if (strcmp(t->layout->state[r].dim, dim) == 0) return true;
    return false;
}

/* Dimensions of variables, along axes that do not cut the variable already. */
static void list_pairs(tries *t)
{
    const block *root = &t->opts->reduced->graph->root;
    const mesh  *m = t->layout->mesh;
    for (int k = 0; k < root->nnodes; k++) {
        if (!variable_is(root->nodes[k])) continue;
        const mtf_shape *shape = &root->nodes[k]->out[0]->shape;
        placement        where = home_of(t, shape);
        unsigned         used = placement_axes(&where, shape->ndims);
        for (int d = 0; d < shape->ndims; d++) {
            const char *dim = shape->dims[d].name;
            if (shape->dims[d].size == 1 || is_given(t, dim)) continue;
            for (int a = 0; a < m->naxes; a++)
                if (m->size[a] > 1 && !(used >> a & 1)) add_pair(t, dim, a);
        }
    }
}

/* Pairs of one dimension are one rule, along all their axes: two rules would contradict each other. */
static void take_set(tries *t, uint64_t set)
{
    layout *l = t->layout;
    l->nstate = t->given;
    for (int k = 0; k < t->npairs; k++) {
        if (!(set >> k & 1)) continue;
        layout_rule *r = l->nstate > t->given ? &l->state[l->nstate - 1] : NULL;
        if (!r || strcmp(r->dim, t->pairs[k].dim) != 0) {
            r = &l->state[l->nstate++];
            *r = (layout_rule){.dim = t->pairs[k].dim, .text = ""};
        }
        r->cut.axis[r->cut.n++] = (uint8_t)t->pairs[k].axis;
    }
}

/* A hash of where the current rules put the variables: sets with the same result are tried once. */
static uint64_t places(const tries *t)
{
    const block *root = &t->opts->reduced->graph->root;
    uint64_t     h = 1;
    for (int k = 0; k < root->nnodes; k++) {
        if (!variable_is(root->nodes[k])) continue;
        const mtf_shape *shape = &root->nodes[k]->out[0]->shape;
        placement        where = home_of(t, shape);
        for (int d = 0; d < shape->ndims; d++)
            h = hash_bytes(h, where.dim[d].axis, (size_t)where.dim[d].n) * 31 + (uint64_t)d;
    }
    return h;
}

/* Was a set with the same result tried already?  From now on it was. */
static bool was_seen(tries *t)
{
    uint64_t where = places(t);
    for (int k = 0; k < t->nseen; k++)
        if (t->seen[k] == where) return true;
    if (t->nseen < MOST_TRIED) t->seen[t->nseen++] = where;
    return false;
}

/* ---- trying ---- */

bool state_is_late(state_opts *o)
{
    o->late = o->late || (o->deadline > 0 && clock_thread() > o->deadline);
    return o->late || o->work < 0;
}

/* The layout with the current rules, on the whole graph. */
static bool price_whole(const tries *t, cost *c)
{
    const state_opts *o = t->opts;
    const subject    *w = o->whole;
    estimate_opts     how = {
            .mesh = t->layout->mesh, .layout = t->layout, .rates = *o->rates, .memory = w->memory};
    TRY(cost_of(w, t->layout, o->rates, NULL, NULL, c));
    return estimate_peak(w->graph, w->nfetches, w->fetches, &how, &c->peak);
}

/* Would one of the rules that were added be declined when the layout is used? */
static bool would_decline(const tries *t, bool *declined)
{
    state_opts   *o = t->opts;
    estimate_opts how = {.mesh = t->layout->mesh, .rates = *o->rates, .memory = o->whole->memory};
    layout        l = *t->layout;
    *declined = false;
    if (l.nstate == t->given) return true;
    o->work -= (int64_t)o->whole->graph->nnodes * (l.nstate + 1);
    TRY(decline_state_rules(o->whole->graph, o->whole->nfetches, o->whole->fetches, &how, &l));
    int kept = 0;
    for (int r = 0; r < l.nstate; r++) kept += !is_given(t, l.state[r].dim);
    *declined = kept < t->layout->nstate - t->given;
    return true;
}

/* Keeps a set that is not much worse than the best, as far as prices without equal layers can tell. */
static void keep_near(tries *t, uint64_t set, worth w)
{
    bool near = w.above <= t->worth.above && w.value <= t->worth.value * (1 + NEAR);
    int  at = t->nnear;
    while (at > 0 && worth_less(w, t->near[at - 1].worth)) at--;
    if (!near || !t->opts->reduced->copies || at == MOST_NEAR) return;
    if (t->nnear < MOST_NEAR) t->nnear++;
    memmove(&t->near[at + 1], &t->near[at], sizeof t->near[0] * (size_t)(t->nnear - 1 - at));
    t->near[at].set = set;
    t->near[at].worth = w;
}

/* Is the set better than the best so far?  The processor that needs most memory is searched for
 * only where the set might be. */
static bool try_set(tries *t, uint64_t set, bool *helped)
{
    state_opts *o = t->opts;
    cost        c;
    *helped = false;
    take_set(t, set);
    if (was_seen(t)) return true;
    bool first = t->nseen == 1, memory = o->limit || o->smallest;
    TRY(cost_of(o->reduced, t->layout, o->rates, NULL, NULL, &c));
    o->work -= (int64_t)o->reduced->graph->nnodes * c.programs;
    if (memory && o->reduced->copies) {
        TRY(cost_add_copies(o->reduced, o->fewer, t->layout, o->rates, &c));
        o->work -= o->fewer->graph->nnodes;
    }
    if (!first && !worth_less(worth_of(&c, o->smallest, o->limit), t->worth)) {
        keep_near(t, set, worth_of(&c, o->smallest, o->limit));
        return true;
    }
    if (memory && !o->reduced->copies) {
        TRY(price_whole(t, &c));
        o->work -= o->whole->graph->nnodes;
        if (!first && !worth_less(worth_of(&c, o->smallest, o->limit), t->worth)) return true;
    }
    bool declined;
    TRY(would_decline(t, &declined));
    if (declined) return true;
    if (!first) keep_near(t, t->best, t->worth);
    t->worth = worth_of(&c, o->smallest, o->limit);
    t->best = set;
    *helped = true;
    return true;
}

static bool try_all_sets(tries *t)
{
    bool helped;
    for (uint64_t set = 0; set < (uint64_t)1 << t->npairs && t->nseen < MOST_TRIED; set++) {
        if (set && state_is_late(t->opts)) break;
        TRY(try_set(t, set, &helped));
    }
    return true;
}

/* The pairs of a dimension, or of all others. */
static uint64_t pairs_of(const tries *t, const char *dim, bool others)
{
    uint64_t set = 0;
    for (int k = 0; k < t->npairs; k++)
        if ((strcmp(t->pairs[k].dim, dim) == 0) != others) set |= (uint64_t)1 << k;
    return set;
}

/* What people write: one dimension along all axes that are left, or all but one, each variable taking what it has. */
static bool try_usual_sets(tries *t)
{
    bool helped;
    for (int others = 0; others < 2; others++)
        for (int k = 0; k < t->npairs; k++) {
            if (state_is_late(t->opts)) return true;
            if (k && strcmp(t->pairs[k].dim, t->pairs[k - 1].dim) == 0) continue;
            TRY(try_set(t, pairs_of(t, t->pairs[k].dim, others), &helped));
        }
    return true;
}

/* Begins with what people write, and adds or drops the first rule that helps, as long as one does. */
static bool descend_sets(tries *t)
{
    bool moved = true, helped;
    TRY(try_set(t, 0, &helped) && try_usual_sets(t));
    while (moved && !state_is_late(t->opts)) {
        moved = false;
        for (int k = 0; k < t->npairs && !state_is_late(t->opts); k++) {
            TRY(try_set(t, t->best ^ (uint64_t)1 << k, &helped));
            moved |= helped;
        }
    }
    return true;
}

/* Is there work left for all sets?  They are many: else what people write would come too late among them. */
static bool may_try_all(const tries *t)
{
    const state_opts *o = t->opts;
    return ((int64_t)o->reduced->graph->nnodes << t->npairs) <= o->work;
}

static bool write_texts(const tries *t)
{
    layout *l = t->layout;
    for (int r = t->given; r < l->nstate; r++) {
        textbuf          text = {.arena = &t->opts->whole->graph->session->arena};
        const axis_list *cut = &l->state[r].cut;
        text_add(&text, "%s:%s", l->state[r].dim, l->mesh->name[cut->axis[0]]);
        for (int k = 1; k < cut->n; k++) text_add(&text, "+%s", l->mesh->name[cut->axis[k]]);
        l->state[r].text = text_done(&text);
        TRY(l->state[r].text != NULL);
    }
    return true;
}

/* ---- with all layers ---- */

/* Is the set better than the best so far, with all layers? */
static bool try_whole(tries *t, uint64_t set, cost *best, bool *helped)
{
    state_opts *o = t->opts;
    cost        c;
    bool        declined;
    *helped = false;
    take_set(t, set);
    if (was_seen(t)) return true;
    TRY(price_whole(t, &c));
    o->work -= (int64_t)o->whole->graph->nnodes * c.programs;
    if (!worth_less(worth_of(&c, o->smallest, o->limit), worth_of(best, o->smallest, o->limit)))
        return true;
    TRY(would_decline(t, &declined));
    if (declined) return true;
    t->best = set;
    *best = c;
    *helped = true;
    return true;
}

/* Where prices without equal layers are wrong, what people write is priced with all of them, and what differs from the
 * best by one rule, while there is time. */
static bool improve_whole(tries *t, cost *best)
{
    bool moved = true, helped;
    for (int others = 0; others < 2; others++)
        for (int k = 0; k < t->npairs && !state_is_late(t->opts); k++)
            TRY(try_whole(t, pairs_of(t, t->pairs[k].dim, others), best, &helped));
    while (moved) {
        moved = false;
        for (int k = 0; k < t->npairs && !state_is_late(t->opts); k++) {
            TRY(try_whole(t, t->best ^ (uint64_t)1 << k, best, &helped));
            moved |= helped;
        }
    }
    return true;
}

/* The best of the whole graph among the best set and those near it. */
static bool choose(tries *t, cost *c)
{
    const state_opts *o = t->opts;
    bool              helped;
    t->nseen = 0;
    take_set(t, t->best);
    was_seen(t);
    TRY(price_whole(t, c));
    double found = o->smallest ? (double)c->peak : c->seconds;
    for (int k = 0; k < t->nnear; k++) TRY(try_whole(t, t->near[k].set, c, &helped));
    if (o->reduced->copies && fabs(t->worth.value - found) > WRONG * found)
        TRY(improve_whole(t, c));
    take_set(t, t->best);
    return true;
}

bool state_best(state_opts *o, layout *l, cost *c, bool *proved)
{
    arena       *a = &o->whole->graph->session->arena;
    tries        t = {.opts = o, .layout = l, .given = l->nstate};
    layout_rule *room = arena_array(a, layout_rule, l->nstate + MOST_PAIRS);
    TRY(room != NULL);
    if (l->nstate) memcpy(room, l->state, sizeof *room * (size_t)l->nstate);
    l->state = room;
    list_pairs(&t);
    bool all = t.npairs <= ALL_SETS_OF && may_try_all(&t);
    TRY(all ? try_all_sets(&t) : descend_sets(&t));
    *proved = all && !state_is_late(o) && t.nseen < MOST_TRIED && !o->reduced->copies;
    return choose(&t, c) && write_texts(&t);
}
