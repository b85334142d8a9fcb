/* Predicted time by layer, equal layers together. */
#ifndef PAGE_LAYER_TABLE_H
#define PAGE_LAYER_TABLE_H

#include "page/plan_view.h"

/* A section of its own; nothing where all tensors are in one layer. */
void layer_table_write(const plan_view *v, textbuf *t);

#endif
