/* Layouts together with rules for state, and a proof where that is cheap.
 *
 * Rules for state cannot speed up products that they do not affect (touched.h), and others at most
 * by dividing them evenly.  Layouts are tried in the order of that bound, each with its best rules
 * for state, until none can be better or the work is used up; then the bound says how much may be
 * left.
 */
#include "search/with_state.h"

#include <math.h>
#include <string.h>

#include "base/free_list.h"
#include "search/leaves.h"
#include "search/state_rules.h"

enum { NODES_PLANNED = 600 * 1000, LISTED = 20 * 1000 };

typedef struct quest {
    state_task *task;
    arena      *scratch;
    free_list   memory;
    subject     whole, reduced, fewer;
    space       space;
    parts       parts;
    state_opts  opts;
    double      best; /* of those that fit: seconds or bytes */
    double      left; /* the least bound of those that were not tried to the end */
} quest;

static double bound(const void *context, const cuts *c, uint64_t decided)
{
    const quest *q = context;
    const parts *p = &q->parts;
    const cuts   none = {0};
    if (q->task->smallest)
        return extents_least(&q->space, &p->alive, &none, 0) +
               extents_least(&q->space, &p->stored, &none, 0);
    return extents_least(&q->space, &p->firm, c, decided) +
           extents_least(&q->space, &p->loose, &none, 0);
}

static bool prepare_quest(quest *q)
{
    state_task *t = q->task;
    TRY(subject_whole(t->graph, t->nfetches, t->fetches, q->scratch, &q->whole));
    q->whole.memory = &q->memory.as;
    TRY(subject_reduce(&q->whole, true, q->scratch, &q->reduced));
    if (q->reduced.copies && (t->smallest || t->limit))
        TRY(subject_reduce(&q->whole, false, q->scratch, &q->fewer));
    TRY(space_make(t->graph, q->whole.survey.live, t->given, q->scratch, &q->space));
    TRY(subject_divide(&q->whole, q->scratch) && subject_divide(&q->reduced, q->scratch));
    TRY(!q->fewer.graph || subject_divide(&q->fewer, q->scratch));
    q->opts = (state_opts){.whole = &q->whole,
                           .reduced = &q->reduced,
                           .fewer = &q->fewer,
                           .rates = &t->rates,
                           .smallest = t->smallest,
                           .limit = t->limit,
                           .work = t->work ? t->work : NODES_PLANNED,
                           .deadline = t->deadline};
    return parts_make(&q->parts, &q->space, &q->reduced, &t->rates, q->scratch);
}

static bool try_layout(quest *q, const cuts *c)
{
    state_task  *t = q->task;
    arena       *a = &t->graph->session->arena;
    layout_rule *rules = arena_array(a, layout_rule, q->space.ndims + t->given->nrules + 1);
    layout       l;
    cost         found;
    bool         proved;
    TRY(rules && space_layout(&q->space, c, rules, a, &l));
    TRY(state_best(&q->opts, &l, &found, &proved) && t->tell(t->context, &l, &found));
    worth w = worth_of(&found, t->smallest, t->limit);
    if (w.above == 0) q->best = fmin(q->best, w.value);
    if (!proved) q->left = fmin(q->left, bound(q, c, EVERY_SEARCHED));
    return true;
}

static bool was_first(const quest *q, const cuts *c)
{
    const search_answer *f = q->task->first;
    for (int k = 0; k < f->n; k++)
        if (memcmp(&f->best[k].cuts, c, sizeof *c) == 0) return true;
    return false;
}

static bool try_layouts(quest *q)
{
    const symmetry none = {0};
    leaves         l = {.space = &q->space};
    const cuts     nothing = {0};
    int            order[MAX_SEARCHED];
    q->task->root = bound(q, &nothing, 0);
    for (int d = 0; d < q->space.ndims; d++) order[d] = d;
    for (int k = 0; k < q->task->first->n && (k == 0 || !state_is_late(&q->opts)); k++)
        TRY(try_layout(q, &q->task->first->best[k].cuts));
    TRY(leaves_list(&l, &none, order, q->best, LISTED, bound, q, q->scratch));
    while (l.n && l.heap[0].bound < q->best * (1 - SAME_PRICE) && !state_is_late(&q->opts)) {
        leaf x = leaves_pop(&l);
        if (!was_first(q, &x.cuts)) TRY(try_layout(q, &x.cuts));
    }
    if (l.n) q->left = fmin(q->left, l.heap[0].bound);
    q->task->late = q->opts.late;
    q->task->bound = fmin(q->best, fmin(q->left, l.beyond));
    return true;
}

bool state_search(state_task *t)
{
    mtf_session *s = t->graph->session;
    arena        scratch = arena_make(&s->allocator, &s->fault);
    quest       *q = arena_new(&scratch, quest);
    bool         ok = q != NULL;
    if (ok) {
        *q = (quest){.task = t, .scratch = &scratch, .best = INFINITY, .left = INFINITY};
        free_list_open(&q->memory, &s->allocator);
        ok = prepare_quest(q) && try_layouts(q);
        free_list_close(&q->memory);
    }
    arena_free(&scratch);
    return ok;
}
