/* What layouts cost that were priced, so that none is planned twice. */
#ifndef SEARCH_LEDGER_H
#define SEARCH_LEDGER_H

#include "search/cost.h"
#include "search/space.h"

typedef struct ledger_entry {
    cuts cuts;
    cost cost;
} ledger_entry;

typedef struct ledger {
    arena        *arena;
    ledger_entry *list;
    int           n, room;
    int          *slots; /* open addressing: 1 + where in the list; 0: empty */
    uint64_t      mask;
} ledger;

/* NULL: these cuts were not priced yet.  The cost is there until the next note. */
cost *ledger_find(const ledger *l, const cuts *c);
bool  ledger_note(ledger *l, const cuts *c, const cost *x); /* once; false: no memory */

#endif
