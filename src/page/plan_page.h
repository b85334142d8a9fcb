/* The page of a plan, and that of two layouts side by side. */
#ifndef PAGE_PLAN_PAGE_H
#define PAGE_PLAN_PAGE_H

#include "price/hints.h"

/* `what` is the model's name.  `h` may be NULL: no hint.  Both write a file; false after an error. */
bool plan_page(mtf_graph *g, const char *what, estimate *e, const hint *h, const char *path);
bool plan_page_diff(mtf_graph *g, const char *what, estimate *a, estimate *b, const char *path);

#endif
