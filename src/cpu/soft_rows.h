/* A softmax within a map, computed row by row.
 *
 * Step by step, each pass would go over all rows of a tile, and exp would first
 * check whether its fast form applies: here the extremes of a row, found with its
 * maximum, decide that, and a row stays in the L1 cache until it is complete.  The
 * bits are the same.
 */
#ifndef CPU_SOFT_ROWS_H
#define CPU_SOFT_ROWS_H

#include "cpu/map_tile.h"

void soft_run(tile *t);

#endif
