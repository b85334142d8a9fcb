/* Verifying: a mesh's programs compute what the graph says.
 *
 * The graph's own program, lowered for one processor without further passes, runs
 * on residues, and so do the programs of all processors after each planning pass.
 * Every part of every fetch and every variable must be equal.
 */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "verify/values.h"

typedef struct verify_opts {
    const layout *layout; /* NULL: one processor */
    uint64_t      seed;
    bool          brief; /* only the programs that run, not those after each pass; one trial */
} verify_opts;

typedef struct verify_answer {
    bool        equal;
    int         processors, trials;
    double      chance; /* that a difference was missed: the base-2 logarithm of its probability */
    double      degree; /* degree.h */
    bool        cut_short; /* a loop was left after LOCKSTEP_TURNS although its condition held */
    plan_pass   pass;   /* the first after which something differs */
    difference  first;  /* where; without a tensor where processors reach different collectives: */
    const char *stuck;  /* then what is wrong, in the graph's arena */
} verify_answer;

enum { VERIFY_BITS = 60, VERIFY_STEPS = 2 };

/* False after an error, which is not a difference. */
bool verify_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const verify_opts *opts,
                  verify_answer *answer);

#endif
