/* Every public function, called once. */
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

/* Calls all that gives a tensor, with g and x in place of every graph and tensor; either may be NULL. */
void call_everything(mtf_graph *g, mtf_tensor *x, calls *c);
/* Calls all the others, in a session where nothing can be made: each of the four may be NULL, or the
 * session has an error.  Only names are noted. */
void call_all_others(mtf_session *s, mtf_graph *g, mtf_tensor *x, mtf_program *p, calls *c);

#endif
