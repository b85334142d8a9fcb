/* A dataset of text as lines of inputs and targets. */
#ifndef CLI_DATASET_LINES_H
#define CLI_DATASET_LINES_H

#include "cli/config_setup.h"
#include "serve/opened_model.h"

typedef struct dataset_lines {
    const char *files;   /* as the user names them */
    const char *inputs;  /* a line for each example; NULL: no dataset was asked for */
    const char *targets; /* NULL: the dataset has single texts, in `inputs` */
    /* The same as ids where the objective makes its examples of parts of texts, such as spans; else NULL. */
    const id_row *input_rows, *target_rows;
    int64_t       count;
} dataset_lines;

/* Reads --eval-text, or the configuration's dataset where infer_model decodes a dataset. */
bool dataset_lines_read(config_setup *c, const opened_model *m, dataset_lines *to);
/* Writes OUTPUT-STEP.inputs and .targets, where they exist. */
bool dataset_lines_write(const opened_model *m, const dataset_lines *l, const char *output);

#endif
