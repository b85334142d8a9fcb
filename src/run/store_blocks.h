/* Blocks: memory that new variables of a processor share.
 *
 * Some devices give memory in pages of 2 MiB: variables of a few MiB by themselves would waste a part of them.
 */
#ifndef RUN_STORE_BLOCKS_H
#define RUN_STORE_BLOCKS_H

#include "run/stored.h"

/* Memory for the parts of n entries, whose places are known.  False after an error. */
bool store_take(store *s, int n, store_entry *const *entries);
/* All blocks, when the store is closed. */
void store_release_blocks(store *s);

#endif
