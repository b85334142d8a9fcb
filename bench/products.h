/* The matrix products of a program alone, by bare calls.
 *
 * The products that a graph is lowered to, in their order, on memory laid out as
 * the program's own, with nothing in between: no training step can be faster.
 */
#ifndef BENCH_PRODUCTS_H
#define BENCH_PRODUCTS_H

#include "mtf.h"

typedef struct products products;

/* Those of the program that gives `fetch`, f32, on one processor; NULL after an error. */
products *products_new(mtf_graph *g, mtf_tensor *fetch);
void      products_run(void *products);
void      products_free(products *p);

#endif
