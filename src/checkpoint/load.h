/* Loading, for callers that can recover from an error. */
#ifndef CHECKPOINT_LOAD_H
#define CHECKPOINT_LOAD_H

#include "checkpoint/contents.h"
#include "mtf_train.h"
#include "run/store.h"

/* Checks a checkpoint before any of its elements is read; false after an error in `f`. */
typedef struct load_judge {
    bool (*accepts)(void *context, const contents *c, fault *f);
    void *context;
} load_judge;

/* Like mtf_load, but `why` receives an error, the same on all ranks: ERR_DAMAGED where the checkpoint is
 * incomplete or damaged; variables may then hold parts of it.  `judge` and `loaded` may be NULL. */
bool checkpoint_load(store *s, const char *path, const mtf_load_opts *opts, const load_judge *judge,
                     mtf_loaded *loaded, fault *why);

#endif
