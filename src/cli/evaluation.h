/* Evaluation of a model, for mtf train and mtf eval. */
#ifndef CLI_EVALUATION_H
#define CLI_EVALUATION_H

#include "cli/decoded_eval.h"
#include "cli/train_setup.h"
#include "model/events.h"
#include "mtf_train.h"
#include "page/train_report.h"

typedef struct evaluation {
    setup          *setup;
    network         network;
    mtf_dataset    *data;  /* NULL: no data for evaluation */
    mtf_evaluation *means; /* of the loss and, for classifiers, of the accuracy */
    bool            perplexity, json;
    bool            pairs;   /* text: rows are pairs of inputs and targets */
    int64_t         bytes;   /* text: bytes of the targets; 0: unknown */
    decoded_eval   *decoded; /* also decodes answers; NULL: does not */
    events         *events; /* NULL: none, or another rank writes them */
    train_report   *report; /* also receives the figures; NULL: none */
} evaluation;

/* Builds the network and opens the data, if there is any. */
bool evaluation_open(evaluation *e, setup *s);
/* Compiles, and checks everything that an evaluation needs; writes an event file to `events_dir`/eval,
 * unless NULL.  In a session with an "auto" layout, compile the training graph first: the first program
 * determines the layout. */
bool evaluation_prepare(evaluation *e, const char *events_dir);
/* Evaluates the current variables, and prints the figures, with the step where `with_step`.  Does nothing
 * where there is no data. */
bool evaluation_show(evaluation *e, int64_t step, bool with_step);
bool evaluation_close(evaluation *e); /* false: something could not be written */

#endif
