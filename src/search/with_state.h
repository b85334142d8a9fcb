/* Layouts together with rules for state, and a proof where that is cheap. */
#ifndef SEARCH_WITH_STATE_H
#define SEARCH_WITH_STATE_H

#include "search/search.h"

/* Called for each layout with its best rules for state; the layout is valid during the call, what
 * its rules point to also afterwards.  False after an error. */
typedef bool state_listener(void *context, const layout *l, const cost *c);

typedef struct state_task {
    mtf_graph           *graph;
    int                  nfetches;
    mtf_tensor *const   *fetches;
    const layout        *given; /* fixed rules */
    price_rates          rates;
    bool                 smallest;
    int64_t              limit;    /* 0: none */
    const search_answer *first;    /* the best layouts without rules for state: tried first */
    int64_t              work;     /* nodes planned at most; 0: the default */
    double               deadline; /* by clock_thread(); 0: none */
    state_listener      *tell;
    void                *context;
    double               bound; /* a result: no layout is better; seconds or bytes */
    double               root;  /* a result: nor is one on another mesh of as many processors */
    bool                 late;  /* the deadline ended the search */
} state_task;

bool state_search(state_task *t);

#endif
