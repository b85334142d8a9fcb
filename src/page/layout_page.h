/* The page of a search: time against memory of all layouts priced. */
#ifndef PAGE_LAYOUT_PAGE_H
#define PAGE_LAYOUT_PAGE_H

#include "page/seen_layouts.h"

typedef struct layout_story {
    const char         *what;  /* the model */
    const char         *proof; /* a sentence on how far from the optimum it may be */
    const char         *mesh;  /* as the user wrote it */
    const seen_layouts *seen;
    const found_layout *best;
    const price_rates  *rates;    /* of the machine */
    const char         *command;  /* the command line */
    bool                smallest; /* the objective is memory */
    int64_t             limit;    /* bytes; 0: none */
} layout_story;

bool layout_page(const layout_story *s, const char *path); /* false after an error */

#endif
