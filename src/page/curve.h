/* A figure of one or more runs as curves, over their steps and over their time. */
#ifndef PAGE_CURVE_H
#define PAGE_CURVE_H

#include "base/units.h"
#include "page/run_columns.h"

enum { MOST_RUNS = 8, BY_STEP = 0, BY_TIME = 1, CURVE_WAYS = 2 };

/* What a run contributes. */
typedef struct curve_line {
    const run_columns *of;
    int                run;    /* its number: its colour */
    const run_figure  *figure; /* of its evaluations; NULL: a column of it */
    run_column         column;
    int                n;
    const double      *x[CURVE_WAYS]; /* steps, seconds */
    const double      *value;
    const double      *raw; /* what `value` smooths, drawn behind it in pale; NULL: nothing */
    const double      *least, *most; /* a band around it; NULL: none */
} curve_line;

typedef struct curve {
    const char *name, *unit; /* unit: "" or " s", " %" */
    int         nlines;
    curve_line  lines[MOST_RUNS];
    double      from[CURVE_WAYS], to[CURVE_WAYS]; /* ranges of the picture: steps, seconds */
    int         height;                           /* pixels */
    int         digits;                           /* of values; 0: five */
    bool        dots;                             /* marks each point */
    bool        from_zero;
    double      times;         /* what the values of the runs are multiplied by; 0: by 1 */
    double      most_possible; /* upper limit of the scale, as 100 for percent; 0: none */
} curve;

/* The picture twice, by step and by time, with the last values beside its name; only name and value where
 * there is one value, and nothing where no value is finite. */
void curve_write(const curve *c, int number, textbuf *t);
/* For the script: {"name":...,"unit":...,"lines":[...]}; the lines point to the runs. */
void curve_write_data(const curve *c, textbuf *t);

/* A value as captions show it, in so many digits; 0: in five. */
unit_text curve_value(double v, int digits);

#endif
