/* Which nodes make up a part of a program (part_costs.h), and what it must cost at least. */
#ifndef SEARCH_SORTING_H
#define SEARCH_SORTING_H

#include "search/part_costs.h"

typedef struct sorting {
    parts        *p;
    const survey *survey;
    arena        *scratch;
    double       *flops; /* by node id: seconds of products on one processor */
    uint64_t     *dims;  /* by node id: dimensions of its inputs and outputs */
    uint64_t *around;  /* these, those whose owed sums may pass through it, and neighbours' that may
                         decide how a sum is paid */
    uint64_t *owed;    /* by tensor id: dimensions of sums that may still be owed */
    int      *leader;  /* by node id: another node of the same part */
    bool     *touched; /* by node id: by rules for state */
    double   *trips;   /* by node id: how often it is computed; 0: nobody knows */
} sorting;

uint64_t sorting_dims(const space *s, const mtf_tensor *x); /* of a tensor, as bits */
bool     sorting_is_stored(const node *n);                  /* a variable or an input */

/* least_work.c: notes what products take on one processor; then, when parts are numbered, what each part
 * takes at least.  False: no memory. */
void sorting_note_products(sorting *s, const program *uncut, const price_rates *r);
bool sorting_add_least(sorting *s, const program *uncut, const price_rates *r);

#endif
