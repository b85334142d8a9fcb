/* Counters as a tree of text. */
#ifndef CLI_COUNTERS_TEXT_H
#define CLI_COUNTERS_TEXT_H

#include "price/estimate.h"

/* One line for each counter, and for each prefix of a name, with the sum of all below it. */
void counters_write(estimate *e, textbuf *t);

#endif
