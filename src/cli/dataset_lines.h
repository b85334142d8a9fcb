/* A dataset of text as lines: prompts, and what should follow them. */
#ifndef CLI_DATASET_LINES_H
#define CLI_DATASET_LINES_H

#include "cli/config_setup.h"
#include "serve/opened_model.h"

typedef struct dataset_lines {
    const char *files;   /* as the user names them */
    const char *inputs;  /* a line for each example; NULL: nobody asked for a dataset */
    const char *targets; /* NULL: the dataset has single texts, which are the inputs */
} dataset_lines;

/* What --eval-text names, or the configuration's dataset where it wants that decoded. */
bool dataset_lines_read(config_setup *c, dataset_lines *to);
/* OUTPUT-STEP.inputs and .targets, where there are some. */
bool dataset_lines_write(const opened_model *m, const dataset_lines *l, const char *output);

#endif
