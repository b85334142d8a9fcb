/* Two layouts compared in words. */
#ifndef PAGE_VERDICT_H
#define PAGE_VERDICT_H

#include "page/plan_view.h"

/* Which of the two, A and B, is faster, what memory that takes, and where the times differ most. */
void verdict_write(const plan_view v[2], textbuf *t);

#endif
