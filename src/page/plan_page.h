/* The page of a plan, and that of two layouts side by side. */
#ifndef PAGE_PLAN_PAGE_H
#define PAGE_PLAN_PAGE_H

#include "price/hints.h"

typedef struct plan_story {
    mtf_graph  *graph;
    const char *what;     /* the model's name */
    const char *command;  /* the command line */
    const char *computes; /* what a step does, where that may surprise; NULL: it does not */
    const hint *hint;     /* NULL: none */
    double      alone;    /* seconds of the step on one processor; 0: unknown */
} plan_story;

/* Both write a file; false after an error. */
bool plan_page(const plan_story *s, estimate *e, const char *path);
bool plan_page_diff(const plan_story *s, estimate *a, estimate *b, const char *path);

#endif
