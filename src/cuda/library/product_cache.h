/* Chosen algorithms of matrix products on disk. */
#ifndef CUDA_LIBRARY_PRODUCT_CACHE_H
#define CUDA_LIBRARY_PRODUCT_CACHE_H

#include "cuda/library/product_call.h"

/* Is there a folder to keep a choice in? */
bool product_cache_exists(void);
/* Sets the algorithm, or `refused`, where the cache has a choice for this product, GPU and library,
 * undamaged; else false. */
bool product_cache_read(const cuda_context *c, product_call *p);
/* Keeps a choice unless there is one already: then that one is taken, so that all processes that
 * choose at the same time use the same.  False: it could not be kept. */
bool product_cache_settle(const cuda_context *c, product_call *p);

#endif
