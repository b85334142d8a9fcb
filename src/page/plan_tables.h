/* A plan's totals, and its tables by kind and by instruction. */
#ifndef PAGE_PLAN_TABLES_H
#define PAGE_PLAN_TABLES_H

#include "page/plan_view.h"

/* Mesh, layout, machine and processor, as lines of the page's header, whose list stays open. */
void plan_write_setting(const plan_view *v, textbuf *t);
void plan_write_computes(const char *computes, textbuf *t); /* of a step; NULL: nothing */
void plan_write_rules(const layout *l, textbuf *t);         /* each as code */
/* Rules for state that were left out, and why: lines of the page's head, if any. */
void plan_write_declined(const layout *l, arena *a, textbuf *t);
void plan_write_machine(const price_rates *r, textbuf *t);
/* Time, memory, bytes sent, flops; what the step does, and how fast (page/plan_speed.h). */
void plan_write_figures(const plan_view *v, double alone, textbuf *t);
/* Predicted time by kind of instruction, as bars. */
void plan_write_kinds(const plan_view *v, textbuf *t);
/* Collectives by kind, axes and rule. */
void plan_write_collectives(const plan_view *v, textbuf *t);
/* The costliest instructions; the script replaces them by all. */
void plan_write_instrs(const plan_view *v, int number, textbuf *t);

/* Bytes that the processor shown sends along each set of axes. */
typedef struct axes_sum {
    unsigned axes;
    int      group;
    int64_t  count, bytes;
    double   seconds;
} axes_sum;
int plan_axes_sums(const plan_view *v, axes_sum **list); /* -1: no memory */

#endif
