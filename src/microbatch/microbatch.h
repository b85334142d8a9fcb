/* Micro-batches: a graph whose batch comes in parts, one after the other.
 *
 * A graph describes a step on its whole batch.  Where it says that the batch comes in parts
 * (graph->batch, graph->parts), this makes the graph that is planned: loops over the parts, and around
 * them what does not depend on them (microbatch/parting.h).  Results are those of the whole batch, up to
 * the rounding of sums: a loss, an update, a random number does not depend on the number of parts.
 *
 * Part p of n has the examples p, p + n, p + 2n, ...: where the batch is cut along the mesh, each
 * processor's share of every part comes from its own share of the batch.
 */
#ifndef MICROBATCH_MICROBATCH_H
#define MICROBATCH_MICROBATCH_H

#include "graph/node.h"

typedef struct microbatched {
    mtf_graph *graph; /* with the same inputs and variables, by name; the given one for one part */
    int        nfetches;
    mtf_tensor **fetches;   /* in the order of the given ones */
    int          passes;    /* over the batch */
    mtf_tensor  *undivided; /* a loop's result that is computed for the whole batch; NULL: none */
} microbatched;

/* The graph that is planned for these fetches.  Tensors know those that they come from (`origin`).
 * False after an error. */
bool microbatch_graph(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, microbatched *m);

/* Can g's batch come in parts?  Not where it has none, or more passes over it would be needed than are made.
 * False after an error. */
bool microbatch_divides(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, bool *divides);

#endif
