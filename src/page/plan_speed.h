/* How much a plan's step does: parameters, examples and tokens, speed. */
#ifndef PAGE_PLAN_SPEED_H
#define PAGE_PLAN_SPEED_H

#include "page/plan_view.h"

/* Figures of a step; `alone`: seconds of the same step on one processor, 0: unknown. */
void plan_write_speed(const plan_view *v, double alone, textbuf *t);

#endif
