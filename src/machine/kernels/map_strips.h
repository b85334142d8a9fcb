/* The steps of a tile, strip by strip. */
#ifndef MACHINE_MAP_STRIPS_H
#define MACHINE_MAP_STRIPS_H

#include "machine/kernels/map_tile.h"

/* Runs steps first .. last-1 of a tile, all of one form and none of them a fold. */
void strips_run(tile *t, int first, int last);

#endif
