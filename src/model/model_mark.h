/* A short text by which two models are compared. */
#ifndef MODEL_MODEL_MARK_H
#define MODEL_MODEL_MARK_H

#include "graph/node.h"

/* The operations of a graph with their numbers and sums of their settings, and a sum of how they are
 * connected: equal for equal models, whatever their tensors are called.  It lives in the session; NULL: no
 * memory. */
const char *model_mark(mtf_graph *g);
/* Says what differs between two marks: "1 tanh there, none here". */
void model_mark_compare(const char *there, const char *here, textbuf *t);

#endif
