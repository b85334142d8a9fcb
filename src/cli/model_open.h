/* Opens the model of decode, score and serve. */
#ifndef CLI_MODEL_OPEN_H
#define CLI_MODEL_OPEN_H

#include "cli/options.h"
#include "serve/opened_model.h"

extern const option_spec opening_options[]; /* which model, and where its weights are */

/* Opens a session, the model and its vocabulary, and loads its checkpoint.  The session is closed with
 * close_session.  NULL after an error, which was reported; `*status` is then the exit status. */
opened_model *model_open(const options *o, int *status);

#endif
