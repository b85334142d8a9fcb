/* A plan as JSON, for the page's script. */
#ifndef PAGE_PLAN_DATA_H
#define PAGE_PLAN_DATA_H

#include "page/plan_view.h"

/* One JSON object.  Columns by instruction: kind, tensor, phase, layer (indices into lists), seconds,
 * flops, bytes, executions; "wires" has the fields of collectives, by instruction. */
void plan_write_data(const plan_view *v, textbuf *t);

#endif
