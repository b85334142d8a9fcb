/* Says which axes of the mesh no rule of the layout uses. */
#ifndef CLI_IDLE_AXES_H
#define CLI_IDLE_AXES_H

#include "cli/options.h"
#include "graph/node.h"

/* Prints a note on standard error for each axis along which neither a rule nor a rule for state cuts any
 * dimension of the graph; none where the layout is searched for. */
bool idle_axes_note(const options *o, const mtf_graph *g);

#endif
