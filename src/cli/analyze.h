/* Compares the plan with a measured run. */
#ifndef CLI_ANALYZE_H
#define CLI_ANALYZE_H

#include "cli/json_out.h"
#include "cli/options.h"

/* Compares a run with its plan, over all ranks: memory, flops, number and bytes of collectives must be
 * equal; a difference is an error, which names it.  Prints the header, the table with measured seconds,
 * and the comparison; or adds "analyze" to a JSON object, where one is given. */
bool analyze_run(const options *o, mtf_program *p, cJSON *to);

#endif
