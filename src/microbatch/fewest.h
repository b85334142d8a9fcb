/* As few micro-batches as fit the memory. */
#ifndef MICROBATCH_FEWEST_H
#define MICROBATCH_FEWEST_H

#include "microbatch/microbatch.h"
#include "price/estimate.h"

/* Sets the number of parts of g's batch: the fewest with which the layout's fullest processor needs no
 * more than `limit` bytes (0: any number), or, where none suffices, the number that needs least; 1 where
 * the batch does not divide.  Parts are equal on every processor, as far as the batch allows.  False after an error. */
bool microbatch_fewest(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                       const estimate_opts *o, int64_t limit);

/* The peak bytes of the layout's fullest processor if g's batch were one micro-batch; 0: it is. */
bool microbatch_undivided_peak(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                               const estimate_opts *o, int64_t *peak);

#endif
