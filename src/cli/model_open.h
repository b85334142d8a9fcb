/* Opens the model of decode, score and serve. */
#ifndef CLI_MODEL_OPEN_H
#define CLI_MODEL_OPEN_H

#include "cli/config_setup.h"
#include "serve/opened_model.h"

/* What describes a command that opens a trained model. */
#define FOLDER_COMMAND .words = "[FOLDER]", .most = 1, .from_folder = true
#define FOLDER_TEACHES                                                                             \
    "FOLDER has the checkpoints of a model and the configuration that mtf train writes there.\n"   \
    "--gin_file names another configuration; without FOLDER the weights are random.\n\n"

extern const option_spec opening_options[]; /* which model, and where its weights are */

/* Opens a session, the model and its vocabulary, and loads its checkpoint; fills in the configuration `c`.
 * The session is closed with close_session.  NULL after an error, which was reported; `*status` is then
 * the exit status. */
opened_model *model_open(const options *o, config_setup *c, int *status);
/* The model of a configuration, without its weights.  NULL after an error. */
opened_model *model_of(const config_setup *c);

#endif
