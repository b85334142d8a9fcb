/* A curve over the steps of a run. */
#ifndef PAGE_CURVE_H
#define PAGE_CURVE_H

#include "base/textbuf.h"
#include "mtf.h"

typedef struct curve {
    const char   *name, *unit; /* unit: "" or " s", " %" */
    int           n;
    const double *step, *value;
    const double *least, *most; /* a band around it; NULL: none */
    double        from, to;     /* steps that the picture spans */
    int           height;       /* pixels */
    bool          smooth;       /* what jumps is drawn faintly, with its running mean above */
    bool          dots;         /* few points, each worth a mark */
    bool          from_zero;
    double        most_possible; /* 0: there is no such number */
} curve;

/* The picture, with the last value beside its name; of a single value only that, and nothing where
 * no value is finite. */
void curve_write(const curve *c, int number, textbuf *t);
void curve_write_data(const curve *c,
                      textbuf     *t); /* {"name":...,"unit":...,"step":[...],"value":[...]} */

#endif
