/* The mesh as a grid: traffic, and parts of a tensor. */
#ifndef PAGE_MESH_PICTURE_H
#define PAGE_MESH_PICTURE_H

#include "page/plan_view.h"

/* Two grids of processors: the bytes that a chosen processor sends to each other one, and the part of a
 * chosen tensor that each holds; the script changes the choices. */
void plan_write_mesh_pictures(const plan_view *v, int number, textbuf *t);

#endif
