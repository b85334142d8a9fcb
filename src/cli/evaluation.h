/* Evaluating a model: the figures of mtf train and mtf eval. */
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
    mtf_dataset    *data;  /* NULL: there is nothing to evaluate on */
    mtf_evaluation *means; /* of the loss and, where something is right or wrong, of that */
    bool            perplexity, json;
    bool            pairs;   /* of text: targets belong to inputs, each row being one */
    int64_t         bytes;   /* of text: that the targets stand for; 0: nobody knows */
    decoded_eval   *decoded; /* decodes the inputs as well; NULL: nobody asked for it */
    events         *events; /* NULL: none, or another rank writes them */
    train_report   *report; /* gets the figures, too; NULL: none */
} evaluation;

/* Builds the network and opens the data, where there is some. */
bool evaluation_open(evaluation *e, setup *s);
/* Compiles, and checks all that an evaluation needs; where there is a folder, `events_dir`/eval gets
 * an event file.  In a session whose layout is to be found another graph may have to come first. */
bool evaluation_prepare(evaluation *e, const char *events_dir);
/* Evaluates the variables as they are after a step, and prints the figures: the step as well where
 * `with_step`.  Nothing where there is no data. */
bool evaluation_show(evaluation *e, int64_t step, bool with_step);
bool evaluation_close(evaluation *e); /* false: something could not be written */

#endif
