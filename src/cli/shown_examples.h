/* Pictures of the first examples of an evaluation, for the report of a training. */
#ifndef CLI_SHOWN_EXAMPLES_H
#define CLI_SHOWN_EXAMPLES_H

#include "model/ready.h"
#include "page/train_report.h"

typedef struct shown_examples {
    mtf_program *program; /* NULL: not compiled yet */
    mtf_batches *batches;
    float       *room; /* for all pictures of a batch */
} shown_examples;

/* Gives the report what the network's pictures now show; nothing where there is no report, or no picture. */
bool shown_examples_report(shown_examples *s, const network *n, mtf_dataset *data, train_report *r);

#endif
