/* Every public function that gives a tensor, called once. */
#ifndef TESTS_GRAPH_EVERY_CALL_H
#define TESTS_GRAPH_EVERY_CALL_H

#include "mtf.h"

enum { MOST_CALLS = 256 };

/* The names that were called and what they gave. */
typedef struct calls {
    int         count;
    const char *name[MOST_CALLS];
    mtf_tensor *gave[MOST_CALLS];
} calls;

/* Calls everything with g and x in place of every graph and tensor; either may be NULL. */
void call_everything(mtf_graph *g, mtf_tensor *x, calls *c);

#endif
