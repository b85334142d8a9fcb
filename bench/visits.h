/* Visits: a program runs for a moment, again and again.
 *
 * On a shared machine somebody else's work slows down a core for seconds, and a step
 * takes as long as its slowest processor does.  So each visit looks at the machine
 * first and last: how long one and the same product takes when every processor
 * computes it.  Visits count that were made while the machine was calm.
 */
#ifndef BENCH_VISITS_H
#define BENCH_VISITS_H

#include "mtf.h"

enum { MOST_VISITS = 1000 };

typedef struct visit {
    double step;    /* seconds, */
    double product; /* and of the product, before or behind: whichever took longer */
} visit;

typedef struct visits {
    visit list[MOST_VISITS];
    int   n;
} visits;

/* Steps that take so many seconds in all, at least one, behind one that warms up.  Of them counts
 * the one than which a quarter were shorter: the shortest of many is luck, where the system takes
 * cores away.  False after an error. */
bool visits_add(visits *v, mtf_session *s, mtf_program *p, double enough);

/* What the product may take, for a visit to be calm, where it took so long in n of them, which get
 * sorted. */
double visits_calm(int n, double *products);

int    visits_calm_ones(const visits *v, double calm);
double visits_mean(const visits *v, double calm); /* of these; of all, where there are none */

#endif
