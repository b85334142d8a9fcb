/* Counters: how much all processors compute and move, by name.
 *
 * mtf.h says what is counted.  Sums over all processors are computed without
 * visiting each: the parts of a dimension add up to the dimension, and an axis
 * that cuts nothing repeats everything.  Only what collectives move is taken
 * from the programs themselves.
 */
#ifndef PRICE_COUNTERS_H
#define PRICE_COUNTERS_H

#include "price/price.h"

typedef struct counters {
    arena       *arena;
    mtf_counter *list;
    int          count, room;
} counters;

/* Adds to the counter of this name, creating it if needed; false: no memory. */
bool counters_add(counters *c, const char *name, int64_t elements, int64_t bytes);
/* What one execution of a collective counts, if all processors together have `results` elements as
 * their results, and receive `received`. */
int64_t counters_collective(const instr *i, int64_t results, int64_t received);
/* Adds all executions of collective k of a priced program; `elements` is what one execution
 * counts. */
bool counters_add_collective(counters *c, const price *p, int k, int64_t elements);
/* Stores the program's counters and those of `more`, sorted, in the program. */
bool counters_keep(program *p, const counters *more);

/* Sorted counters and all their prefixes up to a slash; each counter is added to its prefixes too.
 * Returns their number, -1: no memory. */
int counters_tree(arena *a, int n, const mtf_counter *list, mtf_counter **tree);

#endif
