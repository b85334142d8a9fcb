/* All curves of one or more runs, their legend and their table. */
#ifndef PAGE_RUN_CURVES_H
#define PAGE_RUN_CURVES_H

#include "page/curve.h"

enum { MOST_CURVES = 5 + RUN_FIGURES };

typedef struct run_curves {
    int         n;
    curve       list[MOST_CURVES];
    int         nruns;
    run_columns runs[MOST_RUNS];
} run_curves;

/* From its runs, which are set; the first may have no points yet.  False: no memory. */
bool run_curves_find(run_curves *c, arena *a);
/* Sections of the page; nothing where no run has points. */
void run_curves_write(const run_curves *c, textbuf *t);
/* {"runs":[...],"curves":[...]} */
void run_curves_write_data(const run_curves *c, textbuf *t);

/* The loss of the last step, smoothed as its curve is; NAN: unknown. */
double run_last_loss(const run_curves *c, int run);
/* "test accuracy", the last value of it in percent, and its unit. */
const char *run_figure_name(const run_figure *f);
double      run_figure_value(const run_figure *f, int at);
const char *run_figure_unit(const run_figure *f);
const char *run_speed_name(const run_columns *r);

#endif
