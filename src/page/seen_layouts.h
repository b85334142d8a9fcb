/* Layouts that a search priced, each once. */
#ifndef PAGE_SEEN_LAYOUTS_H
#define PAGE_SEEN_LAYOUTS_H

#include "search/automatic.h"

typedef struct seen_layout {
    const char *mesh, *layout, *state; /* as a user would write them */
    cost        cost;
    const char *reason; /* why it is worse than the best; NULL: derived from the costs */
} seen_layout;

/* All layouts that a search priced, each once. */
typedef struct seen_layouts {
    mtf_session *session; /* where they live */
    seen_layout *list;
    int          n, room;
    name_table   known; /* by their texts: pointers into the list */
} seen_layouts;

/* Both keep the last cost reported for a layout.  The first is a search_listener whose context is the
 * seen_layouts. */
bool seen_add(void *seen, const layout *l, const cost *c);
bool seen_add_best(seen_layouts *s, const found_layout *x, const char *reason);

#endif
