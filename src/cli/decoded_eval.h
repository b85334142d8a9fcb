/* Evaluating what a model answers to the inputs of some text. */
#ifndef CLI_DECODED_EVAL_H
#define CLI_DECODED_EVAL_H

#include "cli/config_setup.h"

typedef struct decoded_eval decoded_eval;

typedef struct decoded_figures {
    double bleu;  /* from 0 to 100 */
    double exact; /* share of answers that are their targets */
} decoded_figures;

/* Reads the inputs and targets of the text to evaluate on.  With a name, NAME_inputs and NAME_targets
 * are written, and NAME_STEP_predictions for each checkpoint.  NULL after an error. */
decoded_eval *decoded_open(config_setup *c, const char *name);
/* Answers every input with the variables as they are after a step, and compares. */
bool decoded_run(decoded_eval *d, int64_t step, decoded_figures *to);
void decoded_close(decoded_eval *d); /* NULL: nothing */

#endif
