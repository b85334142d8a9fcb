/* Why nothing fits: what the least memory consists of. */
#ifndef SEARCH_MEMORY_FLOOR_H
#define SEARCH_MEMORY_FLOOR_H

#include "base/textbuf.h"
#include "price/estimate.h"

/* Appends what of a layout's memory is more than `limit` bytes, and what would need less.  `g` has the batch and its
 * parts, `planned` is made of it.  False after an error. */
bool memory_floor_write(const mtf_graph *g, mtf_graph *planned, int nfetches,
                        mtf_tensor *const *fetches, const estimate_opts *how, int64_t limit,
                        textbuf *t);

#endif
