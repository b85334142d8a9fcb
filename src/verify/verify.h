/* Verifying: a mesh's programs compute what the graph says.
 *
 * The graph's own program, lowered for one processor and left alone, is run on
 * residues, and so are the programs of all processors, after each planning pass.
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
    double      chance; /* of a difference that was not noticed: its logarithm to base 2 */
    double      degree; /* degree.h */
    bool        cut_short; /* a loop that a condition ends was left after LOCKSTEP_TURNS */
    plan_pass   pass;   /* the first after which something differs */
    difference  first;  /* where; without a tensor where processors do not even meet: */
    const char *stuck;  /* then what is wrong, in the graph's arena */
} verify_answer;

enum { VERIFY_BITS = 60, VERIFY_STEPS = 2 };

/* False after an error, which is not a difference. */
bool verify_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const verify_opts *opts,
                  verify_answer *answer);

#endif
