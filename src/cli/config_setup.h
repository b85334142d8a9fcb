/* Transformers that configuration files describe, for the commands. */
#ifndef CLI_CONFIG_SETUP_H
#define CLI_CONFIG_SETUP_H

#include "cli/options.h"
#include "model/config/kept.h"
#include "model/ready.h"
#include "mtf_config.h"
#include "mtf_text.h"

extern const option_spec config_options[]; /* which files, and which text */
extern const option_spec config_data_options[];

typedef struct config_setup {
    const options        *options;
    mtf_session          *session;
    mtf_config           *config;
    mtf_config_run        run;
    mtf_config_model      described;
    mtf_transformer      *model, *teacher;  /* the teacher may be NULL */
    const mtf_vocabulary *inputs, *targets; /* NULL: nobody named one, and none was needed */
    int64_t               batch;
    bool                  answers;
} config_setup;

bool config_given(const options *o);
/* Completes a command line that names configuration files, or a folder with what a training left
 * there: the first file's name stands for the model, and the files' mesh, layout and folder for options
 * that were not given.  -1, or the exit status after an error was said. */
int config_complete(options *o);
/* The files and parameters that the command line names. */
bool config_files(const options *o, mtf_session *s, mtf_config_opts *to);
/* Reads the files and makes the model; warnings go to standard error.  A vocabulary is opened where
 * there is text, where the model `answers`, or where the files do not tell how many tokens there are. */
bool config_open(const options *o, mtf_session *s, bool answers, config_setup *c);
/* The network of a step, or of an evaluation. */
bool config_network(const config_setup *c, bool training, network *n);
/* What --text or --eval-text names, or the files' dataset; `files` is NULL where there is none. */
bool config_text_opts(config_setup *c, bool training, mtf_text_opts *o);
/* The dataset of that; `*data` is NULL where there is none. */
bool config_data(config_setup *c, bool training, mtf_dataset **data);
/* The whole of it as one file, for checkpoints; and that file written into their folder. */
const char *config_text(const config_setup *c);
bool        config_keep(const config_setup *c, const char *folder);

#endif
