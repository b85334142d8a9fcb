/* What is laid out: a graph, whole or with its equal layers left out.
 *
 * Layers that repeat in the graph's list of nodes, forward, backward and in the
 * optimizer, cost the same.  A copy of the graph keeps the first, one of the middle
 * and the last; the one of the middle stands for all that are left out, and
 * what it costs counts as often.
 */
#ifndef SEARCH_SUBJECT_H
#define SEARCH_SUBJECT_H

#include "plan/passes.h"

typedef struct subject {
    mtf_graph   *graph;
    int          nfetches;
    mtf_tensor **fetches;
    double      *weight; /* by node id: how many nodes of the whole graph it stands for */
    int          copies; /* of the longest repetition, in the whole graph; 0: nothing repeats */
    survey       survey; /* of the graph, the same under every layout */
    const mtf_allocator *memory; /* for programs of it; NULL: the session's */
    bool                 quick;  /* nobody asks for its memory: a peak is that of variables alone */
    double               enough; /* seconds beyond which nobody asks who is slowest; 0: none */
} subject;

bool subject_whole(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, arena *a, subject *s);
enum { COPIES_KEPT = 3 };
/* Keeps so many copies of whatever repeats, or two without the one of the middle; all of it where
 * nothing does. */
bool subject_reduce(const subject *whole, bool middle, arena *a, subject *s);

#endif
