/* Loads the checkpoint of one step. */
#ifndef CLI_LOAD_STEP_H
#define CLI_LOAD_STEP_H

#include "mtf_train.h"

enum { NEWEST = -1 };

/* Into the session's variables, from the folder of a run; `from` may be NULL.  False after an error. */
bool load_step(mtf_session *s, const char *folder, int64_t step, mtf_load_opts how,
               mtf_loaded *from);

#endif
