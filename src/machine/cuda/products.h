/* Matrix products by the card's library. */
#ifndef MACHINE_CUDA_PRODUCTS_H
#define MACHINE_CUDA_PRODUCTS_H

#include "machine/cuda/product_call.h"

typedef struct product_plan product_plan;

/* Does the library multiply these, or does a kernel of our own (write_contract)? */
bool product_suits(const instr *i);
/* Chooses how to multiply; NULL after an error.  Freed by product_forget.  `addresses` are those of
 * the result and of both factors; `may_write`: nothing is lost if the result is written now. */
product_plan *product_prepare(cuda_context *c, arena *a, const instr *i, void *const addresses[3],
                              bool may_write, void *workspace);
/* Queues the product. */
bool product_run(cuda_context *c, const product_plan *p, void *const addresses[3], void *workspace);
void product_forget(cuda_context *c, product_plan *p);

#endif
