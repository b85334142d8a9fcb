/* The commands of mtf, one file each. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/options.h"

extern const command command_run, command_plan, command_layout, command_verify, command_calibrate,
    command_show, command_ops, command_train, command_eval, command_ckpt, command_completion,
    command_decode, command_score, command_serve, command_perplexity, command_tokenize;

/* The n-th command, in the order of help; NULL after the last. */
const command *command_nth(int n);

#endif
