/* The search: the best layout of a graph on a mesh, and a proof.
 *
 * Layouts are tried in the order of their lower bounds.  Each is priced as a real
 * program, which records the costs of its parts (part_costs.h) and so raises the bounds
 * of others.  When no bound is below the best price seen, the best is proved optimal.
 */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "search/candidates.h"
#include "search/part_costs.h"

/* Called for a layout that was priced; what it points to lives in the session.  False ends the
 * search with an error. */
typedef bool search_listener(void *context, const layout *l, const cost *c);

typedef struct search_opts {
    const layout *given; /* mesh, fixed rules, rules for state */
    price_rates   rates;
    bool          smallest; /* least memory; else least time */
    int64_t       limit;    /* bytes that a processor may use; 0: any number */
    int           want;     /* how many of the best are wanted; 1 or more */
    const char   *starts;   /* rules that may be good (starts.h); NULL: none */
    int64_t       work;     /* nodes planned at most; 0: as many as the deadline allows */
    double        deadline; /* by clock_thread(); 0: none */
    bool gives_up; /* where nothing fits in half of that, and no start does: another division of the
                               batch is tried next */
    bool
        waits; /* other meshes wait: after the deadline only the best is priced with all layers, and
                   none for every kind of processor */
    bool plain; /* no bounds, no layers left out: every legal layout is priced */
    /* Called at the end for every layout that was priced; their memory is computed for it. */
    search_listener *tell;
    void            *context;
} search_opts;

typedef struct search_answer {
    candidate best[MOST_KEPT]; /* best first; those that fit */
    int       n;
    double    bound;           /* a lower bound of all layouts: seconds or bytes */
    double    root;            /* a lower bound on every mesh of as many processors */
    double    gap;             /* (best - bound) / best; 0: optimal */
    int       priced;          /* layouts planned for real, each once */
    int64_t   considered;      /* legal layouts looked at, in the longest list of them */
    int       layers_left_out; /* of the longest repetition */
    int       contradictions;  /* see part_costs.h */
    double    reduced_error;   /* relative error of prices without these layers */
    bool      late;            /* time ran out: the result may differ on another machine */
} search_answer;

/* Texts and layouts live in the session.  No candidate where nothing fits.  False after an error. */
bool search_layout(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, const search_opts *opts,
                   search_answer *answer);

#endif
