/* Plans as text: a header, two layouts side by side. */
#ifndef CLI_PLAN_TEXT_H
#define CLI_PLAN_TEXT_H

#include "cli/options.h"
#include "price/estimate.h"

/* Collectives of one kind, along the same axes, caused by the same rule. */
typedef struct collective_sum {
    const char *kind, *cause;
    unsigned    axes;
    int         group;
    int64_t     count, elements, bytes; /* sent by the processor shown, in a step */
    double      seconds;
} collective_sum;

/* Sums by kind and axes, and optionally by cause.  The list lives in the estimate; -1 after an
 * error. */
int collective_sums(estimate *e, bool by_cause, collective_sum **list);

void plan_write_mesh(const mesh *m, textbuf *t);     /* rows:2,cols:4 */
void plan_write_layout(const layout *l, textbuf *t); /* rules as they were written */
/* `whose` says where the layout is from, NULL: from the command line; `o` for how many replicas the batch is. */
void plan_write_header(estimate *e, const options *o, const char *whose, textbuf *t);
/* The row that a head begins with where the file would train, but the plan does not. */
#define RESULTS_ONLY "computes the results only; --optimizer adam plans a training step"
void plan_write_results_only(textbuf *t);
void plan_write_diff(estimate *a, estimate *b, textbuf *t);

#endif
