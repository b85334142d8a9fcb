/* Layouts that were priced, the best first. */
#include "search/candidates.h"

#include <string.h>

double candidate_value(const candidates *c, const candidate *x)
{
    return c->smallest ? (double)x->cost.peak : x->cost.seconds;
}

static bool better(const candidates *c, const candidate *a, const candidate *b)
{
    worth x = worth_of(&a->cost, c->smallest, 0), y = worth_of(&b->cost, c->smallest, 0);
    if (worth_less(x, y) || worth_less(y, x)) return worth_less(x, y);
    return cuts_before(c->space, &a->cuts, &b->cuts);
}

static int find_candidate(const candidates *c, const cuts *with)
{
    for (int k = 0; k < c->n; k++)
        if (memcmp(&c->list[k].cuts, with, sizeof *with) == 0) return k;
    return -1;
}

void candidates_add(candidates *c, const candidate *x)
{
    bool full = c->n == MOST_KEPT;
    if (find_candidate(c, &x->cuts) >= 0 || (full && !better(c, x, &c->list[MOST_KEPT - 1])))
        return;
    int at = full ? MOST_KEPT - 1 : c->n++;
    for (; at > 0 && better(c, x, &c->list[at - 1]); at--) c->list[at] = c->list[at - 1];
    c->list[at] = *x;
}

void candidates_drop(candidates *c, const cuts *with)
{
    int at = find_candidate(c, with);
    if (at < 0) return;
    for (c->n--; at < c->n; at++) c->list[at] = c->list[at + 1];
}
