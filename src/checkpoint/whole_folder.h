/* A folder that is there whole, or not at all. */
#ifndef CHECKPOINT_WHOLE_FOLDER_H
#define CHECKPOINT_WHOLE_FOLDER_H

#include "base/memory.h"

typedef struct whole_folder {
    const char *path;
    const char *draft; /* its name while it is written */
} whole_folder;

/* Another name for what is not whole yet: ".NAME.PROCESS.part", beside it, with the folder or without. */
const char *draft_name(arena *a, const char *path, bool with_folder);

/* May something be written there?  What is there must have a file of this name in it, or be nothing;
 * and it is replaced only where `force`. */
bool whole_may_replace(arena *a, const char *path, const char *sign, bool force, fault *f);
bool whole_begin(whole_folder *w, arena *a, const char *path);
/* Gives it its name, in place of what is there already; where not `ok`, removes what was written. */
bool whole_end(const whole_folder *w, bool ok, fault *f);

#endif
