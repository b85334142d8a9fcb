/* Why one layout is slower: where it spends more time. */
#ifndef SEARCH_REASONS_H
#define SEARCH_REASONS_H

#include "search/automatic.h"

/* The items, two at most, on which the other spends most time beyond the best, as one line:
 * "all_reduce along x (ff:x) 12 ms more, products 3 ms more".  False after an error. */
bool reason_write(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const price_rates *r,
                  const found_layout *best, const found_layout *other, textbuf *t);

#endif
