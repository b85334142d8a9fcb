/* The page of a search: time against memory of all layouts priced. */
#ifndef PAGE_LAYOUT_PAGE_H
#define PAGE_LAYOUT_PAGE_H

#include "page/seen_layouts.h"

typedef struct layout_story {
    const char         *what;  /* the model */
    const char         *proof; /* how sure the answer is, in a sentence */
    const char         *mesh;  /* as asked for */
    const seen_layouts *seen;
    const found_layout *best;
    bool                smallest; /* least memory was asked for */
    int64_t             limit;    /* bytes; 0: none */
} layout_story;

bool layout_page(const layout_story *s, const char *path); /* false after an error */

#endif
