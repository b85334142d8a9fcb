/* The model that a command answers with, opened as its options say. */
#ifndef CLI_MODEL_OPEN_H
#define CLI_MODEL_OPEN_H

#include "cli/config_setup.h"
#include "serve/opened_model.h"

/* The word of such commands, and the beginning of their help. */
#define FOLDER_WORDS "[FOLDER]"
#define FOLDER_TEACHES                                                                             \
    "FOLDER has the checkpoints of a model, and the configuration that mtf train keeps there.\n"   \
    "--gin_file names another configuration, or that of a model with random weights.\n\n"

extern const option_spec opening_options[]; /* which model, and where its weights are */

/* Opens a session, the model, its vocabulary, and loads its checkpoint; `c` is its configuration.  The
 * session is closed with close_session.  NULL after an error that was said, `*status` being the exit
 * status. */
opened_model *model_open(const options *o, config_setup *c, int *status);
/* The same in a session that is open, and without its weights.  NULL after an error. */
opened_model *model_of(const config_setup *c);
/* Reads the weights of that step, 0 being the newest; without a folder they stay random, with a note. */
bool model_load(const options *o, int64_t step, opened_model *m);

#endif
