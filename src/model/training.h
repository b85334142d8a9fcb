/* The state that the training loop and its helpers share. */
#ifndef MODEL_TRAINING_H
#define MODEL_TRAINING_H

#include "checkpoint/lock.h"
#include "data/batch_place.h"
#include "model/events.h"
#include "model/experts_told.h"
#include "model/interrupt.h"
#include "model/progress.h"
#include "model/statistics.h"
#include "mtf_train.h"
#include "run/compiled.h"

typedef struct training {
    mtf_session          *session;
    mtf_graph            *graph;
    mtf_tensor           *loss;
    const mtf_train_opts *opts;
    mtf_tensor          **fetches; /* loss, rate, statistics */
    int                   nfetches;
    statistics            watched;
    experts_told          experts;
    mtf_program          *program;
    mtf_batches          *batches; /* NULL: the graph needs no data */
    events               *events;  /* NULL: none, or another rank writes them */
    progress              progress;
    interrupt             interrupt;
    int64_t        first, step; /* steps since the model's beginning: at the start, and now */
    int64_t        saved;       /* the step of the newest checkpoint; -1: there is none */
    double         last_loss;
    mtf_train_step now;        /* passed to after_step */
    double         step_begin; /* of the current step, in seconds of the clock */
    int            stopped;    /* the signal that ends the training; 0: none */
    folder_lock    lock;       /* on the folder for checkpoints, of the first rank */
    fault unwritable; /* why nothing can be written there; reported only where something must be */
    const char **facts; /* pairs, then NULL: stored in checkpoints, compared when resuming */
    char place[BATCH_PLACE_ROOM]; /* one of them, for data whose examples are not numbered */
} training;

/* Locks the folder for checkpoints, and starts from the newest complete one, from another model's
 * variables, or from initial values; false after an error. */
bool training_start(training *t);
void training_leave(training *t); /* waits for saves, and unlocks the folder */
/* The tensors that a training step fetches: loss, rate, statistics, which may be NULL.  Returns their
 * number; the list lives in the graph; -1 after an error. */
int training_fetches(mtf_graph *g, mtf_tensor *loss, const mtf_train_opts *o,
                     const statistics *watched, mtf_tensor ***fetches);
/* Resets variables, data and random numbers to the newest checkpoint up to step `most`, or to the
 * beginning where there is none; false after an error. */
bool training_rewind(training *t, int64_t most);
/* Finds the tensor that first was not finite in this step: always false, with an error that names it. */
bool training_explain(training *t, double loss);

#endif
