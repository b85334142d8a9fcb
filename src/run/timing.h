/* Timing: how long steps of small programs take, on all processors of a session at once.
 *
 * What counts is how long whole steps take, all processors busy: where more of them
 * share the cores, memory or the wire than these can serve at once, every one is as
 * much slower.
 */
#ifndef RUN_TIMING_H
#define RUN_TIMING_H

#include "base/textbuf.h"
#include "run/trial.h"

enum { TIMING_MOST = 4 };

/* Programs in turn, so that whatever else happens on the machine happens to all.  Of each,
 * seconds of a step, the one that a quarter were shorter than, as models are measured that predictions
 * are compared with.  As many steps as a `guess` of that fills a round with, the same on every rank. */
bool timing_steps(const trial *t, int n, const char *const *texts, const double *guess,
                  double *seconds);

/* `head` makes x0; a link reads x(k), and perhaps what else the head made, and gives x(k+1). */
typedef struct chain {
    textbuf head;
    void (*link)(textbuf *t, int k);
    double guess; /* seconds of a link, roughly */
} chain;

/* Seconds of a link: of a long chain and a short one, the difference. */
bool timing_link(const trial *t, chain *c, double *seconds);

/* Seconds that a processor spends in the one collective of a link, in the mean. */
bool timing_collective(const trial *t, chain *c, double *seconds);

/* Seconds of a link of one chain as a multiple of those of another, links being as long as each
 * other roughly: both in turn, so that what disturbs one disturbs the other.  What a step takes by
 * itself is left out: where processors have nothing to do they sleep, and are woken for the next. */
bool timing_ratio(const trial *t, chain *one, chain *other, double *ratio);

/* One instruction, against a step that has none worth telling. */
bool timing_single(const trial *t, const char *text, double guess, double *seconds);

#endif
