/* Which of the library's algorithms makes a product.
 *
 * The library offers several.  The fastest is found by measuring, once for each product on
 * each kind of GPU, and kept in memory and on disk.  Algorithms differ in rounding: with a
 * choice that is kept, every run gives the same bits.
 */
#ifndef CUDA_LIBRARY_PRODUCT_CHOICE_H
#define CUDA_LIBRARY_PRODUCT_CHOICE_H

#include "cuda/library/product_call.h"

/* Sets the algorithm of a call that is described.  The places are those of the product; what is at
 * `result` is lost where `may_write`, else kept. */
bool product_choose(cuda_context *c, product_call *p, const product_places *at, bool may_write);

#endif
