/* Loading, for those who can go on after an error. */
#ifndef CHECKPOINT_LOAD_H
#define CHECKPOINT_LOAD_H

#include "checkpoint/contents.h"
#include "mtf_train.h"
#include "run/store.h"

/* Asked about a checkpoint before any of its elements is read; false after an error in `f`. */
typedef struct load_judge {
    bool (*accepts)(void *context, const contents *c, fault *f);
    void *context;
} load_judge;

/* As mtf_load, but an error goes to `why`, the same on all ranks: ERR_DAMAGED where the checkpoint is
 * not whole, and variables may then hold some of it.  `judge` and `loaded` may be NULL. */
bool checkpoint_load(store *s, const char *path, const mtf_load_opts *opts, const load_judge *judge,
                     mtf_loaded *loaded, fault *why);

#endif
