/* Running one tile of a map. */
#ifndef CPU_MAP_RUN_H
#define CPU_MAP_RUN_H

#include "cpu/map_tile.h"

/* Is every result of a map without rows written to its output by its step?  (If operands are
 * contiguous; otherwise it is stored from a slot.) */
bool map_writes_in_place(const mapping *m);
/* Runs tile `which`. */
void tile_run(tile *t, int64_t which);

#endif
