/* The mesh as a grid: who talks to whom, and who holds which part. */
#ifndef PAGE_MESH_PICTURE_H
#define PAGE_MESH_PICTURE_H

#include "page/plan_view.h"

/* Two grids of the processors: what the one shown sends to each other one, and which part of a
 * tensor each holds; the script lets both be chosen. */
void plan_write_mesh_pictures(const plan_view *v, int number, textbuf *t);

#endif
