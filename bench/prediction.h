/* Layouts of a model, what they were predicted to take and what they took. */
#ifndef BENCH_PREDICTION_H
#define BENCH_PREDICTION_H

#include "bench.h"
#include "measure/calibrate.h"

enum { MOST_LAYOUTS = 1000 };
#define SAME 1.02 /* a ratio of times that counts as equal */

typedef struct sample {
    char   layout[300];
    double predicted;
    double measured, again; /* the two best visits among all layouts; 0: none yet */
    double raced;           /* a quarter of its visits in the last heat took less; 0: in none */
} sample;

typedef struct prediction {
    bench      *bench;
    const char *name, *mesh;
    mtf_tensor *(*make)(mtf_graph *g);
    price_rates trials[CALIBRATE_TRIALS], rates;
    int         ntrials;
    sample      list[MOST_LAYOUTS];
    int         n;
    double      fastest;       /* measured so far */
    int         chosen, rival; /* the least predicted, and the fastest of the others */
} prediction;

bool prediction_visit_all(prediction *t); /* fills in `measured` */
bool prediction_race(
    prediction *t); /* fills in `raced` of the chosen one and its rivals, and who they are */

#endif
