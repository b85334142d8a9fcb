/* Shapes of a mesh for a number of processors. */
#ifndef SEARCH_SHAPES_H
#define SEARCH_SHAPES_H

#include "space/mesh.h"

/* Calls `visit` with every mesh of `processors` in at most `most` axes, whose sizes are 2 or more (one
 * axis of 1 for one processor), named mesh_0, mesh_1, ...; fewer axes first, and the larger first
 * sizes.  `ordered`: with the sizes in every order, else only where they do not increase.  Names live
 * in the session.  Stops where `visit` returns false, and returns that. */
typedef bool shape_visit(void *context, const mesh *m);
bool shapes_visit(mtf_session *s, int processors, int most, bool ordered, shape_visit *visit,
                  void *context);

#endif
