/* The page of a search: time against memory of all layouts priced. */
#ifndef PAGE_LAYOUT_PAGE_H
#define PAGE_LAYOUT_PAGE_H

#include "search/automatic.h"

typedef struct seen_layout {
    const char *mesh, *layout, *state; /* as users write them */
    cost        cost;
    const char *reason; /* what it loses by; NULL: told from the costs */
} seen_layout;

/* All layouts that a search priced, each once. */
typedef struct seen_layouts {
    mtf_session *session; /* where they live */
    seen_layout *list;
    int          n, room;
    name_table   known; /* by their texts, to 1 + the place in the list */
} seen_layouts;

/* Both keep the last cost that is told of a layout.  The first is a search_listener. */
bool seen_add(void *seen_layouts, const layout *l, const cost *c);
bool seen_add_best(seen_layouts *s, const found_layout *x, const char *reason);

typedef struct layout_story {
    const char    *what;  /* the model */
    const char    *proof; /* how sure the answer is, in a sentence */
    const char    *mesh;  /* as asked for */
    const seen_layouts     *seen;
    const found_layout     *best;
    bool           smallest; /* least memory was asked for */
    int64_t        limit;    /* bytes; 0: none */
} layout_story;

bool layout_page(const layout_story *s, const char *path); /* false after an error */

#endif
