/* The history of a training run, in bounded memory.
 *
 * When all points are in use, adjacent points are merged in pairs, and from
 * then on a point stands for twice as many steps.
 */
#include "page/history.h"

#include <math.h>

bool history_open(history *h, arena *a)
{
    *h = (history){.arena = a, .each = 1, .points = arena_array(a, history_point, HISTORY_POINTS)};
    return h->points != NULL;
}

/* Merges a and the following b.  A NaN loss stays a NaN, in the mean and in the extremes. */
static history_point joined(const history_point *a, const history_point *b)
{
    history_point p = *a;
    p.last = b->last;
    p.steps = a->steps + b->steps;
    p.examples = a->examples + b->examples;
    p.loss = (a->loss * (double)a->steps + b->loss * (double)b->steps) / (double)p.steps;
    p.least = isnan(b->least) || b->least < a->least ? b->least : a->least;
    p.most = isnan(b->most) || b->most > a->most ? b->most : a->most;
    p.rate = b->rate;
    p.seconds = a->seconds + b->seconds;
    return p;
}

static void halve(history *h)
{
    int n = 0;
    for (int k = 0; k + 1 < h->n; k += 2) h->points[n++] = joined(&h->points[k], &h->points[k + 1]);
    h->n = n;
    h->each *= 2;
}

void history_add(history *h, const mtf_train_step *now)
{
    history_point p = {.first = now->step,
                       .last = now->step,
                       .steps = 1,
                       .examples = now->examples,
                       .loss = now->loss,
                       .least = now->loss,
                       .most = now->loss,
                       .rate = now->rate,
                       .seconds = now->seconds};
    h->seconds += now->seconds;
    if (h->n && h->points[h->n - 1].steps < h->each) {
        h->points[h->n - 1] = joined(&h->points[h->n - 1], &p);
        return;
    }
    if (h->n == HISTORY_POINTS) halve(h);
    h->points[h->n++] = p;
}

bool history_add_evaluation(history *h, int64_t step, const char *name, double value)
{
    TRY(arena_push(h->arena, h->evaluations, h->nevaluations, h->evaluations_room));
    h->evaluations[h->nevaluations++] = (history_evaluation){step, name, h->seconds, value};
    return true;
}
