/* Timing of programs whose work is queued, by whole steps. */
#ifndef MEASURE_GPU_TIMING_H
#define MEASURE_GPU_TIMING_H

#include "base/textbuf.h"
#include "measure/trial.h"

typedef struct gpu_trial {
    const trial *trial;
    price_rates *rates;
    int          parts;    /* processors */
    int          elements; /* of a large operand: a power of two */
} gpu_trial;

/* A program in which tensors h0, h1, ... are prepared, and y0, y1, ... each take the work that is
 * timed; no y depends on another. */
typedef struct gpu_work {
    textbuf text;
    int     heads, links; /* how many of each; at least 2 links */
    int     outputs;      /* number of y that a link has */
} gpu_work;

/* What a link does on one processor. */
typedef struct gpu_time {
    double seconds, bytes, flops; /* bytes and flops of its instructions */
    double instrs;                /* that the device queues */
} gpu_time;

enum { GPU_LINKS = 4 };
gpu_work gpu_work_begin(const gpu_trial *c, int heads); /* of GPU_LINKS links with one output */

/* Writes a tensor [p, row, column] of numbers that are not all alike: products of equal numbers take
 * less power, and so less time. */
void gpu_add_matrix(const gpu_trial *c, textbuf *t, const char *name, mtf_dtype type,
                    const char *row, int rows, const char *column, int columns);

/* The mean of the links: a step with all of them less a step with the first alone.  `seconds` is at
 * least a twentieth of the longer step's time for a link. */
bool gpu_timing(const gpu_trial *c, gpu_work *w, gpu_time *each);

/* Seconds of a link without the time that its instructions take to start. */
double gpu_net_seconds(const gpu_trial *c, const gpu_time *x);

#endif
