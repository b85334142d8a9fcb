/* How many threads an instruction takes: all of its processor's, or one. */
#include "cpu/crew.h"

/* Estimated seconds; the largest instructions always take all threads. */
static const float sizes[CREW_SIZES] = {0, 30e-6F, 300e-6F, 50e-3F};

/* A trial has so many steps, and so many seconds.  Its first step does not count: threads may have to wake up. */
enum { LEAST_STEPS = 2, LEAST_STAY = 64, MOST_STAY = 1 << 20 };
static const double least_seconds = 1e-3;

/* A choice holds until it has won back so many times what trying the others has cost. */
static const double worth = 50;

/* Where two sizes take as long, the larger one leaves cores to others; one that is much slower ends the trial. */
static const double as_good = 1.02, too_slow = 1.1;

static void try_size(crew *c, int size)
{
    c->tries = true;
    c->size = size;
    c->steps = -1;
    c->all = 0;
}

crew crew_new(void)
{
    crew c = {.stay = LEAST_STAY};
    try_size(&c, 0);
    return c;
}

float crew_estimate(double flops, int64_t bytes)
{
    static const double flops_per_second = 2e10, bytes_per_second = 5e9;
    return (float)(flops / flops_per_second + (double)bytes / bytes_per_second);
}

bool crew_leaves(const crew *c, float estimate)
{
    return estimate < sizes[c->size];
}

static int best_of(const crew *c, int tried)
{
    int best = 0;
    for (int k = 1; k < tried; k++)
        if (c->took[k] < c->took[best]) best = k;
    return best;
}

static void choose(crew *c, int tried)
{
    int    best = best_of(c, tried), size = best;
    double lost = 0;
    for (int k = 0; k < tried; k++) {
        if (c->took[k] <= c->took[best] * as_good) size = k;
        lost += (LEAST_STEPS + 1) * (c->took[k] - c->took[best]);
    }
    double stay = c->took[best] > 0 ? worth * lost / c->took[best] : 0;
    c->stay = stay < LEAST_STAY ? LEAST_STAY : stay > MOST_STAY ? MOST_STAY : (uint32_t)stay;
    c->tries = false;
    c->size = size;
    c->steps = 0;
}

static void note_trial(crew *c)
{
    if (++c->steps == 0) return;
    c->all += c->now;
    if (c->steps < LEAST_STEPS || c->all < least_seconds) return;
    int tried = c->size + 1;
    c->took[c->size] = c->all / c->steps;
    if (tried == CREW_SIZES || c->took[c->size] > too_slow * c->took[best_of(c, tried)])
        choose(c, tried);
    else
        try_size(c, tried);
}

void crew_step(crew *c)
{
    if (c->tries)
        note_trial(c);
    else if ((uint32_t)++c->steps >= c->stay)
        try_size(c, 0);
    c->now = 0;
}
