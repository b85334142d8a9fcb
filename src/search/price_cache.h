/* Costs of the layouts that were priced, so that none is planned twice. */
#ifndef SEARCH_PRICE_CACHE_H
#define SEARCH_PRICE_CACHE_H

#include "search/cost.h"
#include "search/space.h"

typedef struct price_cache_entry {
    cuts cuts;
    cost cost;
} price_cache_entry;

typedef struct price_cache {
    arena             *arena;
    price_cache_entry *list;
    int                n, room;
    int               *slots; /* open addressing: 1 + where in the list; 0: empty */
    uint64_t           mask;
} price_cache;

/* NULL: these cuts were not priced yet.  The cost is valid until the next is added. */
cost *price_cache_find(const price_cache *l, const cuts *c);
bool  price_cache_add(price_cache *l, const cuts *c, const cost *x); /* once; false: no memory */

#endif
