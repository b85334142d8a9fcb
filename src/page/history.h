/* The history of a training run, in bounded memory. */
#ifndef PAGE_HISTORY_H
#define PAGE_HISTORY_H

#include "base/session.h"
#include "mtf_train.h"

enum { HISTORY_POINTS = 2048 };

/* Consecutive steps: one, or more where the run is long. */
typedef struct history_point {
    int64_t first, last; /* steps */
    int64_t steps, examples;
    double  loss, least, most; /* the mean of the loss, and its extremes */
    double  rate;              /* of the last step; NAN: none */
    double  seconds;           /* of all steps */
} history_point;

typedef struct history_evaluation {
    int64_t     step;
    const char *name;    /* "accuracy" */
    double      seconds; /* of all steps before it */
    double      value;
} history_evaluation;

typedef struct history {
    arena              *arena;
    history_point      *points; /* HISTORY_POINTS of them */
    int                 n;
    int64_t             each;    /* steps in a point */
    double              seconds; /* of all steps */
    history_evaluation *evaluations;
    int                 nevaluations, evaluations_room;
} history;

bool history_open(history *h, arena *a); /* false: no memory */
void history_add(history *h, const mtf_train_step *now);
bool history_add_evaluation(history *h, int64_t step, const char *name, double value);

#endif
