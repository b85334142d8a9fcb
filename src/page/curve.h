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
    double        from, to;     /* range of steps of the picture */
    int           height;       /* pixels */
    bool          smooth; /* draws the noisy values faintly, and their running mean over them */
    bool          dots;   /* marks each point */
    bool          from_zero;
    double        most_possible; /* upper limit of the scale, as 100 for percent; 0: none */
} curve;

/* The picture, with the last value beside its name; only name and value where there is one value, and
 * nothing where no value is finite. */
void curve_write(const curve *c, int number, textbuf *t);
void curve_write_data(const curve *c,
                      textbuf     *t); /* {"name":...,"unit":...,"step":[...],"value":[...]} */

#endif
