/* Sorting in kernels: tiles in shared memory, and their join.
 *
 * Items are in no two places equal.  A block sorts a tile; afterwards each item looks up
 * in all other tiles how many items come before it, and so knows its place.
 */
#ifndef MACHINE_WRITE_SORT_H
#define MACHINE_WRITE_SORT_H

#include "machine/cuda/kernel_text.h"

enum { SORT_TILE = 2048 }; /* items at most; with 12 bytes each they take 24 KiB */

/* Patterns.  $N: items of a tile, a power of two; $ALL: those of all tiles of a block.
 *
 *     $SORTDECLARE   shared memory of a block
 *     $SORT          sorts each tile of a block; between two SYNC()
 *     $SORTBEFORE    counts in `rank` the items of the sorted tile at `tile`, of `$N`, before mine
 *
 * Items are u64 `item[]`, or, with `pairs`, u64 `item[]` and u32 `index[]`, compared in this order. */
void sort_set_words(kernel_text *k, int64_t n, int64_t all, bool pairs);

#endif
