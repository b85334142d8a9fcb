/* Sorting in kernels: tiles in shared memory, and their join.
 *
 * Items are in no two places equal.  A block sorts a tile; afterwards each item looks up
 * in all other tiles how many items come before it, and so knows its place.
 */
#ifndef CUDA_WRITE_WRITE_SORT_H
#define CUDA_WRITE_WRITE_SORT_H

#include "cuda/write/kernel_text.h"

enum { SORT_TILE = 2048 }; /* items at most; with 12 bytes each they take 24 KiB */

/* Sets the patterns of sorting.  $N: items of a tile, a power of two; $ALL: of all tiles of a block.
 *
 *     $SORTDECLARE   shared memory of a block: u64 item[], with `pairs` also u32 index[]
 *     $SORT          sorts each tile of a block by item, then by index
 *     $SORTBEFORE    adds to `rank` how many items of `sorted` (and `indices`) in tile `tile` come
 *                    before `mine` (and `my_index`)
 */
void sort_set_words(kernel_text *k, int64_t n, int64_t all, bool pairs);

#endif
