/* Cases whose inputs are sums over a dimension that is cut. */
#ifndef HARNESS_OWED_H
#define HARNESS_OWED_H

#include "harness_mesh.h"

/* Every result of the case by itself, with one of its inputs, and with all of them, given as sums: on
 * every mesh the summed dimension is cut, so that each processor has a part of the sum, and whatever
 * reads the input must wait for the others or be linear.  Counts in t like trials_on. */
void trials_owed(mesh_trials *t, int nmeshes, const char *const *meshes);

#endif
