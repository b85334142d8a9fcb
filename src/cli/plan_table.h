/* The instructions of a plan as a table. */
#ifndef CLI_PLAN_TABLE_H
#define CLI_PLAN_TABLE_H

#include "price/estimate.h"

/* The costliest instructions and every collective, or all instructions; in large programs equal ones are
 * one line, unless all are wanted.  `measured`, by instruction, adds a column of seconds; NULL: none. */
void plan_write_table(estimate *e, bool all, const double *measured, textbuf *t);

/* In `width` columns: a longer name loses its middle, since its end tells it from others. */
void write_shortened(textbuf *t, const char *name, int width);

#endif
