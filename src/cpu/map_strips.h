/* The steps of a tile, strip by strip. */
#ifndef CPU_MAP_STRIPS_H
#define CPU_MAP_STRIPS_H

#include "cpu/map_tile.h"

/* Of steps first .. last-1 of a tile, none of them a fold, runs those with one value per row
 * (`once`), or those with one value per element. */
void strips_run(tile *t, int first, int last, bool once);

#endif
