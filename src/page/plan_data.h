/* A plan as the data of a page's script. */
#ifndef PAGE_PLAN_DATA_H
#define PAGE_PLAN_DATA_H

#include "page/plan_view.h"

/* One JSON object.  Columns by instruction: kind, tensor, phase, layer (places in the lists of these),
 * seconds, flops, bytes, turns; "wires" has what only collectives have, by instruction. */
void plan_write_data(const plan_view *v, textbuf *t);

#endif
