/* Evaluates one checkpoint of a folder, some, or all. */
#ifndef CLI_EVAL_CHECKPOINTS_H
#define CLI_EVAL_CHECKPOINTS_H

#include "cli/options.h"

extern const option_spec checkpoint_options[]; /* which checkpoints */

/* Evaluates the checkpoints that the options name, and prints a line for each; returns the exit status. */
int eval_checkpoints(const options *o);

#endif
