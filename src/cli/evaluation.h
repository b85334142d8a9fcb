/* Evaluation of a model, for mtf train and mtf eval. */
#ifndef CLI_EVALUATION_H
#define CLI_EVALUATION_H

#include "cli/decoded_eval.h"
#include "cli/shown_examples.h"
#include "cli/train_setup.h"
#include "model/events.h"
#include "mtf_train.h"
#include "page/train_report.h"

typedef struct evaluation {
    setup          *setup;
    network         network;
    mtf_dataset    *data;    /* NULL: no data for evaluation */
    mtf_evaluation *means;   /* of the loss and, for classifiers, of the accuracy */
    mtf_tensor     *outside; /* 1 where --right is not from 0 to 1; NULL: it cannot be */
    bool            perplexity, json;
    bool            pairs;   /* text: rows are pairs of inputs and targets */
    int64_t         bytes;   /* text: bytes of the targets; 0: unknown */
    decoded_eval   *decoded; /* also decodes answers; NULL: does not */
    events         *events;  /* NULL: none, or another rank writes them */
    train_report   *report;  /* also receives the figures; NULL: none */
    shown_examples  shown;   /* ... and pictures, where the model has some */
} evaluation;

/* Builds the network and opens the data, if there is any. */
bool evaluation_open(evaluation *e, setup *s);
/* Compiles, and checks everything that an evaluation needs; writes an event file to `events_dir`/eval,
 * unless NULL.  In a session with an "auto" layout, compile the training graph first: the first program
 * determines the layout. */
bool evaluation_prepare(evaluation *e, const char *events_dir);
/* How far the training of the variables had come. */
typedef struct evaluation_place {
    int64_t step, steps; /* steps 0: the last step is unknown */
    double  epoch;       /* NAN: unknown */
} evaluation_place;

/* Evaluates the current variables, and prints the figures.  Does nothing where there is no data. */
bool evaluation_show(evaluation *e, const evaluation_place *at);
/* Prints the loss of a step of training in the same form. */
void evaluation_show_loss(const evaluation *e, const evaluation_place *at, double loss);
bool evaluation_close(evaluation *e); /* false: something could not be written */

#endif
