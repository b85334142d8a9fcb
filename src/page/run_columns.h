/* A run as columns of numbers, which pages draw and other pages read. */
#ifndef PAGE_RUN_COLUMNS_H
#define PAGE_RUN_COLUMNS_H

#include "base/textbuf.h"
#include "page/history.h"

/* By point: the last step and the seconds up to its end, then what is drawn over them. */
typedef enum run_column {
    RUN_STEP,
    RUN_SECONDS,
    RUN_LOSS,
    RUN_LEAST,
    RUN_MOST,
    RUN_RATE,
    RUN_SPEED, /* examples or steps a second */
    RUN_USE,   /* percent of the machine's peak */
    RUN_COLUMNS
} run_column;

/* What the evaluations of a run found, under one name. */
typedef struct run_figure {
    const char   *name; /* "accuracy" */
    int           n;
    const double *step, *seconds, *value;
} run_figure;

enum { RUN_FIGURES = 8 };

typedef struct run_columns {
    const char   *name;                /* of the run, in a legend */
    const char   *setting;             /* its command, and what that left open */
    bool          examples;            /* its speed counts examples, not steps */
    double        first;               /* its first step */
    int           n;                   /* points */
    const double *column[RUN_COLUMNS]; /* NULL: unknown; NAN: unknown there */
    int           nfigures;
    run_figure    figures[RUN_FIGURES];
} run_columns;

const char *run_column_name(run_column c);

/* Everything but name and setting.  `ideal`: seconds of a step at the machine's peak; 0: unknown.  False:
 * no memory. */
bool run_columns_of(run_columns *r, const history *h, double ideal, arena *a);
/* As a JSON object. */
void run_columns_write(const run_columns *r, textbuf *t);
/* The run of a page, from its text; the name stays.  False: it is not the page of a run, or no memory. */
bool run_columns_read(run_columns *r, const char *text, arena *a);

/* The mean over the time of the run; NAN: unknown. */
double run_mean(const run_columns *r, run_column c);

#endif
