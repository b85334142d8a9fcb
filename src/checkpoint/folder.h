/* The folder that holds checkpoints: step_00001000, step_00002000, ...
 *
 * A checkpoint gets its name when it is complete, by one rename.  A name that
 * begins with a dot is half written or half deleted, and is ignored.
 */
#ifndef CHECKPOINT_FOLDER_H
#define CHECKPOINT_FOLDER_H

#include "base/memory.h"

/* Paths in the arena; NULL: no memory. */
const char *folder_step_path(arena *a, const char *folder, int64_t step);
const char *folder_draft_path(arena *a, const char *folder, int64_t step); /* while it is written */

bool folder_make(const char *folder, fault *f);   /* with its parents; it may exist */
bool folder_ready(const char *folder, fault *f);  /* makes it, and checks that it is writable */
bool folder_remove(const char *folder, fault *f); /* with all files in it */
bool folder_sync(const char *folder, fault *f);
bool folder_clean(arena *a, const char *folder); /* deletes what is half written or half deleted */
/* The steps of the checkpoints, the oldest first; none where the folder does not exist. */
bool folder_steps(arena *a, const char *folder, int64_t **steps, int *count);
int64_t
folder_step(const char *path); /* the step in its name; -1: it is not named as a checkpoint */
/* Whether a checkpoint of this step may have this path: its name, if it is that of a step, is the right one. */
bool folder_suits(const char *path, int64_t step, fault *f);
/* Renames the draft to the checkpoint of its step, replacing one that exists. */
bool folder_publish(arena *a, const char *folder, int64_t step);
/* Keeps the newest `keep`, those that `every` divides (0: none), and `current`; deletes the rest. */
bool folder_prune(arena *a, const char *folder, int keep, int64_t every, int64_t current);

#endif
