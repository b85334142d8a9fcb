/* Finds the meshes and layouts that users leave open. */
#ifndef SEARCH_AUTOMATIC_H
#define SEARCH_AUTOMATIC_H

#include "search/search.h"

typedef struct automatic_opts {
    const char *mesh;         /* "rows:2,cols:4", or "auto:64" */
    const char *layout;       /* fixed rules, and `auto` */
    const char *state_layout; /* likewise */
    bool        whole_batch;  /* the batch is of one replica: no layout cuts it */
    price_rates rates;
    bool        smallest;
    int64_t     limit;     /* bytes that a processor may use; 0: any number */
    int         most_axes; /* of a mesh that is found; 0: 2 */
    int         want;
    /* rules that may be good, such as a configuration's own (starts.h); NULL: none */
    const char      *starts;
    int64_t          work;    /* nodes planned at most for each mesh; 0: the default */
    double           seconds; /* of processor time for everything; 0: 10 */
    search_listener *tell;    /* called for every layout priced, for some more than once; or NULL */
    void            *context;
} automatic_opts;

/* One layout, with all that it depends on. */
typedef struct found_layout {
    mesh        mesh;
    layout      layout; /* points to that mesh, so a found_layout must not move; lists the given
                           rules for state that are declined */
    cost        cost;
    const char *mesh_text, *layout_text, *state_text; /* as users write them */
} found_layout;

typedef struct automatic_answer {
    found_layout *best; /* best first */
    int           n;
    search_answer search;     /* of the best layout's mesh, without its candidates */
    int           meshes;     /* tried */
    bool          mesh_found; /* the mesh was searched for */
} automatic_answer;

/* The meshes that the options leave open, in the order in which they are tried; or the one that they give.
 * The list lives in the session.  False after an error. */
bool        automatic_meshes(mtf_session *s, const automatic_opts *opts, mesh **list, int *n);
const char *automatic_mesh_text(mtf_session *s,
                                const mesh  *m); /* "rows:2,cols:4"; NULL: no memory */

/* Does any of these texts, each of which may be NULL, leave something to be found? */
bool automatic_is_asked(const char *mesh, const char *layout, const char *state_layout);
/* False after an error, as when nothing fits.  All that is found lives in the session. */
bool automatic_find(mtf_graph *g, int nfetches, mtf_tensor *const *fetches,
                    const automatic_opts *opts, automatic_answer *answer);

#endif
