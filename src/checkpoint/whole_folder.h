/* A folder that is published complete or not at all. */
#ifndef CHECKPOINT_WHOLE_FOLDER_H
#define CHECKPOINT_WHOLE_FOLDER_H

#include "base/memory.h"

typedef struct whole_folder {
    const char *path;
    const char *draft; /* its name while it is written */
} whole_folder;

/* The name until it is complete: ".NAME.PROCESS.part" beside it, with or without the folder's path. */
const char *draft_name(arena *a, const char *path, bool with_folder);

/* Whether `path` may be written: it must not exist, or with `force` be a folder that contains a file
 * named `sign`. */
bool whole_may_replace(arena *a, const char *path, const char *sign, bool force, fault *f);
bool whole_begin(whole_folder *w, arena *a, const char *path);
/* Renames the draft to its final name, replacing what is there; where not `ok`, removes the draft. */
bool whole_end(const whole_folder *w, bool ok, fault *f);

#endif
