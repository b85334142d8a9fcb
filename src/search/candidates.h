/* Layouts that were priced, the best first. */
#ifndef SEARCH_CANDIDATES_H
#define SEARCH_CANDIDATES_H

#include "search/cost.h"
#include "search/space.h"

enum { MOST_KEPT = 16 };

typedef struct candidate {
    cuts   cuts;
    cost   cost;
    layout layout; /* of those kept, with texts */
} candidate;

typedef struct candidates {
    const space *space;
    bool         smallest; /* least memory is best; else least time */
    int          n;
    candidate    list[MOST_KEPT];
} candidates;

double candidate_value(const candidates *c, const candidate *x); /* seconds or bytes */
/* Inserts x at its rank, unless it is there already. */
void candidates_add(candidates *c, const candidate *x);
void candidates_drop(candidates *c, const cuts *with);

#endif
