/* The graph to lay out, whole or without repeated layers.
 *
 * Layers that repeat in the graph's list of nodes, forward, backward and in the
 * optimizer, cost the same.  A copy of the graph keeps the first, one of the middle
 * and the last; the middle one represents all that are left out, and its cost is
 * multiplied by their number.  Then the batch is divided: loops over its parts are planned
 * for the layers that are left.
 */
#ifndef SEARCH_SUBJECT_H
#define SEARCH_SUBJECT_H

#include "plan/passes.h"

typedef struct subject {
    mtf_graph   *graph;
    int          nfetches;
    mtf_tensor **fetches;
    double      *weight; /* by node id: how many nodes of the whole graph it represents */
    int          copies; /* of the longest repetition, in the whole graph; 0: nothing repeats */
    survey       survey; /* of the graph, the same under every layout */
    const mtf_allocator *memory; /* for programs of it; NULL: the session's */
    bool                 quick;  /* memory is not needed: the peak counts variables only */
    double enough; /* seconds beyond which the slowest processor is not sought; 0: none */
} subject;

bool subject_whole(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, arena *a, subject *s);
/* Its batch in the parts that the graph asks for: from here on it is what is planned. */
bool subject_divide(subject *s, arena *a);
/* Where a loop's sum comes from: the tensor that each iteration adds to it; else x itself. */
const mtf_tensor *subject_source(const mtf_tensor *x);
enum { COPIES_KEPT = 3 };
/* Keeps the first, middle and last copy of what repeats, or without `middle` only the first and
 * last; everything where nothing repeats. */
bool subject_reduce(const subject *whole, bool middle, arena *a, subject *s);

#endif
