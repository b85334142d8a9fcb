/* Prices of collectives that run beside other work. */
#include <math.h>

#include "price/price.h"

/* Both queues, as the device runs them: program/hazards.h. */
double price_hidden(const price *p, const double *times)
{
    const hazards *h = p->beside;
    double         first = 0, second = 0, all = 0;
    int            n = p->program->ninstrs;
    for (int k = 0; h && k <= n; k++) {
        double seconds = k == n ? 0 : p->lines[k].seconds * (times ? times[k] : 1);
        all += seconds;
        if (h->awaits[k] >= 0) first = fmax(first, p->ended[h->awaits[k]]);
        if (k < n && h->beside[k])
            p->ended[k] = second = fmax(first, second) + seconds;
        else
            first += seconds;
    }
    return all - first;
}

/* Collectives come one after the other, so where the work before c's end is awaited takes s seconds since c
 * began, that end comes max(0, c - s) later than the work alone would take; for several collectives these
 * delays add up, also where the stretches of work overlap. */
void price_spare(const price *p, const double *times, double *spare)
{
    const hazards *h = p->beside;
    int            n = p->program->ninstrs, next = 0;
    double         work = 0, *began = p->ended;
    for (int k = 0; k <= n; k++) {
        for (; h && next <= h->awaits[k]; next++)
            if (h->beside[next])
                spare[next] = fmax(spare[next],
                                   fmin(p->lines[next].seconds * times[next], work - began[next]));
        if (k == n) break;
        spare[k] = p->lines[k].spare * times[k];
        if (h) began[k] = work;
        if (!h || !h->beside[k]) work += p->lines[k].seconds * times[k];
    }
}

static bool has_collectives(const program *p)
{
    for (int k = 0; k < p->ninstrs; k++)
        if (instr_is_collective(&p->instrs[k])) return true;
    return false;
}

bool price_beside(price *p, arena *a)
{
    hazards *h;
    p->beside = NULL;
    if (!p->program->session->can.overlaps || !has_collectives(p->program)) return true;
    h = arena_new(a, hazards);
    p->ended = arena_array(a, double, p->program->ninstrs + 1);
    TRY(h && p->ended && hazards_find(p->program, a, h));
    p->beside = h;
    p->hidden_seconds = price_hidden(p, NULL);
    p->seconds -= p->hidden_seconds;
    p->wire_seconds -= p->hidden_seconds;
    return true;
}
