/* Timing of programs whose work is queued, by whole steps. */
#ifndef MEASURE_CARD_TIMING_H
#define MEASURE_CARD_TIMING_H

#include "base/textbuf.h"
#include "measure/trial.h"

typedef struct card_trial {
    const trial *trial;
    price_rates *rates;
    int          parts;    /* processors */
    int          elements; /* of a large operand: a power of two */
} card_trial;

/* A program in which tensors h0, h1, ... are prepared, and y0, y1, ... each take the work that is
 * timed; no y depends on another. */
typedef struct card_work {
    textbuf text;
    int     heads, links; /* how many of each; at least 2 links */
    int     outputs;      /* number of y that a link has */
} card_work;

/* What a link does on one processor. */
typedef struct card_time {
    double seconds, bytes, flops; /* bytes and flops of its instructions */
    double instrs;                /* that the device queues */
} card_time;

enum { CARD_LINKS = 4 };
card_work card_work_begin(const card_trial *c, int heads); /* of CARD_LINKS links with one output */

/* Writes a tensor [p, row, column] of numbers that are not all alike: products of equal numbers take
 * less power, and so less time. */
void card_add_matrix(const card_trial *c, textbuf *t, const char *name, mtf_dtype type,
                     const char *row, int rows, const char *column, int columns);

/* The mean of the links: a step with all of them less a step with the first alone.  `seconds` is at
 * least a twentieth of the longer step's time for a link. */
bool card_timing(const card_trial *c, card_work *w, card_time *each);

/* Seconds of a link without the time that its instructions take to start. */
double card_net_seconds(const card_trial *c, const card_time *x);

#endif
