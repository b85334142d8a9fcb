/* Verifying: a mesh's programs compute what the graph says.
 *
 * The graph is evaluated on residues, node by node, and the programs of all
 * processors run on residues too.  Every part of every fetch and every variable
 * must be equal.
 */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "verify/values.h"

typedef struct verify_opts {
    const layout *layout; /* NULL: one processor */
    uint64_t      seed;
    bool          brief; /* one trial, and no search for the pass */
    bool          small; /* --shrink was given: errors do not advise it */
    /* What is planned, where that is another graph than the one that says what is right: inputs and
     * variables correspond by name, fetches by number.  NULL: the same. */
    mtf_graph         *planned;
    mtf_tensor *const *planned_fetches;
} verify_opts;

typedef struct verify_answer {
    bool      equal;
    int       processors, trials;
    double    chance;    /* that a difference was missed: the base-2 logarithm of its probability */
    double    degree;    /* the largest of a result, or of what a hash or a decision was taken of */
    double    hashes;    /* taken in all trials together */
    bool      cut_short; /* a loop was left after LOCKSTEP_ITERATIONS although its condition held */
    plan_pass pass;      /* the first after which something differs */
    difference  first;   /* where; without a tensor where processors reach different collectives: */
    const char *stuck;   /* then what is wrong, in the graph's arena */
} verify_answer;

enum { VERIFY_BITS = 60, VERIFY_STEPS = 2, VERIFY_TRIALS = 2, VERIFY_MOST_TRIALS = 8 };

/* False after an error, which is not a difference. */
bool verify_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const verify_opts *opts,
                  verify_answer *answer);

#endif
