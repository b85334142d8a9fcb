/* Evaluates decoded answers to the inputs of a dataset. */
#ifndef CLI_DECODED_EVAL_H
#define CLI_DECODED_EVAL_H

#include "cli/config_setup.h"

typedef struct decoded_eval decoded_eval;

typedef struct decoded_figures {
    double bleu;  /* from 0 to 100 */
    double exact; /* share of answers that are their targets */
} decoded_figures;

/* Reads the inputs and targets of the evaluation text.  `name`, where given: writes NAME_inputs and
 * NAME_targets, and decoded_run writes NAME_STEP_predictions.  NULL after an error. */
decoded_eval *decoded_open(config_setup *c, const char *name);
/* Decodes an answer to every input with the current variables, and compares it with its target. */
bool decoded_run(decoded_eval *d, int64_t step, decoded_figures *to);
void decoded_close(decoded_eval *d); /* NULL: does nothing */

#endif
