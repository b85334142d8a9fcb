/* Counters: how much all processors compute and move, by name.
 *
 * mtf.h says what is counted.  Sums over all processors need no visit to each:
 * the parts of a dimension add up to the dimension, and an axis that cuts
 * nothing repeats everything.  Only what collectives move is taken from the
 * programs themselves.
 */
#ifndef PLAN_COUNTERS_H
#define PLAN_COUNTERS_H

#include "plan/price.h"

typedef struct counters {
    arena       *arena;
    mtf_counter *list;
    int          count, room;
} counters;

/* Adds to the counter of this name, made on demand; false: no memory. */
bool counters_add(counters *c, const char *name, int64_t elements, int64_t bytes);
/* What a turn of a collective counts, of which all processors together have so many elements as
 * their results, and receive so many. */
int64_t counters_collective(const instr *i, int64_t results, int64_t received);
/* Adds all turns of collective k of a priced program, in one of which all processors together count
 * so many elements. */
bool counters_add_collective(counters *c, const price *p, int k, int64_t elements);
/* The counters of a program followed by those of `more`, sorted: into the program. */
bool counters_keep(program *p, const counters *more);

/* Sorted counters with every slash-prefix of their names, to which each of them counts too.
 * Returns how many, -1: no memory. */
int counters_tree(arena *a, int n, const mtf_counter *list, mtf_counter **tree);

#endif
