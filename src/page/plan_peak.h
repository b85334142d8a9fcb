/* The tensors alive at the peak of memory. */
#ifndef PAGE_PLAN_PEAK_H
#define PAGE_PLAN_PEAK_H

#include "page/plan_view.h"

/* Bytes by kind, and the largest tensors; tensors of the same kind and size whose names differ only in
 * numbers share a line. */
void plan_write_peak(const plan_view *v, textbuf *t);

#endif
