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
    const mtf_vocabulary *inputs, *targets; /* NULL: none was named, and none was needed */
    int64_t               batch;
    bool                  answers;
} config_setup;

bool config_given(const options *o);
/* Completes a command line that names configuration files, or a folder of checkpoints with a configuration:
 * the first file's name is the model's name, and the files' mesh, layout and folder replace options that
 * were not given.  -1, or the exit status after an error, which was reported. */
int config_complete(options *o);
/* The files and parameters that the command line names; the rules are those of --layout, or the files' own. */
bool config_files(const options *o, mtf_session *s, bool own_rules, mtf_config_opts *to);
/* Reads the files and makes the model; warnings go to standard error.  A vocabulary is opened where
 * there is text, where the model `answers`, or where the files do not give the number of tokens. */
bool config_open(const options *o, mtf_session *s, bool answers, config_setup *c);
/* Opens the vocabularies, unless they are open, and checks that the model has as many tokens. */
bool config_vocabularies(config_setup *c);
/* The network of a step, or of an evaluation. */
bool config_network(const config_setup *c, bool training, network *n);
/* The options of --text or --eval-text, or of the files' dataset; `files` is NULL where there is none. */
bool config_text_opts(config_setup *c, bool training, mtf_text_opts *o);
/* Whether the files' dataset is shuffled; true where --text replaces it. */
bool config_shuffles(const config_setup *c);
/* The dataset with these options; `*data` is NULL where there is none. */
bool config_data(config_setup *c, bool training, mtf_dataset **data);
/* The whole configuration as one text, for checkpoints; and a function that writes it into their folder,
 * where config_complete finds it when no other is named. */
const char *config_text(const config_setup *c);
bool        config_keep(const config_setup *c, const char *folder);

#endif
