/* Matrix products by the GPU's library. */
#ifndef CUDA_LIBRARY_PRODUCTS_H
#define CUDA_LIBRARY_PRODUCTS_H

#include "cuda/library/product_call.h"

typedef struct product_plan product_plan;

/* Does the library multiply these, or does a kernel of our own (write_contract)? */
bool product_suits(const instr *i);
/* Chooses how to multiply; NULL after an error.  Freed by product_forget.  `addresses` are those of
 * the outputs, then of the inputs; `may_write`: nothing is lost if the outputs are written now. */
product_plan *product_prepare(cuda_context *c, arena *a, const instr *i, void *const *addresses,
                              bool may_write, void *workspace);
/* The library does not make the product's epilogue: it cannot be run. */
bool product_is_refused(const product_plan *p);
/* Queues the product.  An epilogue's operands are where they were when it was prepared. */
bool product_run(cuda_context *c, const product_plan *p, void *const *addresses, void *workspace);
void product_forget(cuda_context *c, product_plan *p);

#endif
