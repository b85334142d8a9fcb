/* Variables of all types whose values identify their positions. */
#ifndef CHECKPOINT_MODEL_H
#define CHECKPOINT_MODEL_H

#include "mtf_train.h"

enum { MODEL_VARIABLES = 8, MODEL_MOST = 7 * 5 * 3 };

typedef struct model {
    mtf_session *session;
    mtf_tensor  *w[MODEL_VARIABLES];
} model;

/* Opens a session with such a mesh and layouts (any may be NULL) and makes the variables, all zeros. */
model model_open(const char *mesh, const char *layout, const char *state);
model model_open_with(const mtf_session_opts *opts);
void  model_fill(const model *m, int64_t salt); /* all elements, different with each salt */
/* How many variables differ from what model_fill would have written. */
int model_wrong(const model *m, int64_t salt);

/* Saves a model as step 1 in the folder of this name. */
void model_save(const char *folder);
/* What goes wrong when a session, which is closed, loads the newest checkpoint of the folder of this
 * name, and when that is verified; "": nothing. */
const char *load_error(mtf_session *s, const char *folder);
const char *verify_error(const char *folder);

/* A folder for this test alone, made on first use; `name` inside of it. */
const char *in_folder(const char *name);
void        drop_folder(void);

#endif
