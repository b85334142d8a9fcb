/* Matrix products by the card's library. */
#ifndef MACHINE_CUDA_PRODUCTS_H
#define MACHINE_CUDA_PRODUCTS_H

#include "machine/cuda/cuda_device.h"

/* Working space that the library may use for a product. */
enum { PRODUCT_WORKSPACE = 32 << 20 };

typedef struct product_plan product_plan;

/* Does the library multiply these, or does a kernel of our own (write_contract)? */
bool product_suits(const instr *i);
/* Chooses how to multiply; NULL after an error.  Freed by product_forget. */
product_plan *product_prepare(cuda_context *c, arena *a, const instr *i, void *workspace);
/* Queues the product of matrices at a and b. */
bool product_run(cuda_context *c, const product_plan *p, void *out, const void *a, const void *b,
                 void *workspace);
void product_forget(cuda_context *c, product_plan *p);

#endif
