/* Compares a mesh's programs with the graph, on residues. */
#ifndef HARNESS_EXACT_H
#define HARNESS_EXACT_H

#include "harness_mesh.h"

/* All fetches together, or one of them alone, where less is paid on the way: by the rules.  False, with words in
 * `error`, where something differs. */
bool exact_agrees(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const stage *where,
                  char *error);

#endif
