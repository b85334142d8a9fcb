/* The plan's promises beside what a run did. */
#ifndef CLI_ANALYZE_H
#define CLI_ANALYZE_H

#include "cli/json_out.h"
#include "cli/options.h"

/* Compares what was run with its plan, over all ranks: memory, flops, number and bytes of collectives
 * must be equal, and a difference is an error that names it.  Prints the header, the table with measured
 * seconds, and the comparison; or adds "analyze" to an object of JSON, where that is given. */
bool analyze_run(const options *o, mtf_graph *g, mtf_program *p, int nfetches,
                 mtf_tensor *const *fetches, cJSON *to);

#endif
