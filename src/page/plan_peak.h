/* What is alive when memory is fullest. */
#ifndef PAGE_PLAN_PEAK_H
#define PAGE_PLAN_PEAK_H

#include "page/plan_view.h"

/* Bytes by kind, and the largest tensors; those that differ only in the numbers of their names and
 * are alike in kind and size stand on one line. */
void plan_write_peak(const plan_view *v, textbuf *t);

#endif
