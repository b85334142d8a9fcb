/* A dataset of text as lines of inputs and targets.
 *
 * Texts are read one after another: the memory that this takes does not depend on the files.
 */
#ifndef CLI_DATASET_LINES_H
#define CLI_DATASET_LINES_H

#include "cli/config_setup.h"
#include "data/text/text_pairs.h"
#include "serve/line_source.h"

typedef struct dataset_lines {
    line_source         source; /* its name NULL: no dataset was asked for */
    const opened_model *model;
    mtf_text_opts       opts;
    char               *text[SIDES]; /* of the line that was given last */
    /* Examples that the objective makes of parts of texts, such as spans; else NULL. */
    mtf_dataset *made;
    int64_t      given, count;
    int32_t     *ids[SIDES];
    text_pairs   pairs; /* all others */
} dataset_lines;

/* Opens --eval-text, or the configuration's dataset where infer_model decodes a dataset.  To be closed after
 * success, and not to be moved. */
bool dataset_lines_open(config_setup *c, const opened_model *m, dataset_lines *to);
/* Writes OUTPUT-STEP.inputs and .targets, where they exist; reads the dataset again. */
bool dataset_lines_write(dataset_lines *l, const char *output);
void dataset_lines_close(dataset_lines *l);

#endif
