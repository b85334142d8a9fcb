/* The folder that holds checkpoints: step_00001000, step_00002000, ...
 *
 * A checkpoint gets its name when it is whole, by one renaming; what begins
 * with a dot is half written or half deleted, and is nobody's.
 */
#ifndef CHECKPOINT_FOLDER_H
#define CHECKPOINT_FOLDER_H

#include "base/memory.h"

/* Paths in the arena; NULL: no memory. */
const char *folder_step_path(arena *a, const char *folder, int64_t step);
const char *folder_draft_path(arena *a, const char *folder, int64_t step); /* while it is written */

bool folder_make(const char *folder, fault *f);   /* with those above it; may be there already */
bool folder_ready(const char *folder, fault *f);  /* made, and something may be made in it */
bool folder_remove(const char *folder, fault *f); /* with all files in it */
bool folder_sync(const char *folder, fault *f);
bool folder_clean(arena *a, const char *folder); /* what is half written or half deleted goes */
/* The steps of the checkpoints, the oldest first; a folder that is not there has none. */
bool folder_steps(arena *a, const char *folder, int64_t **steps, int *count);
bool folder_is_step(const char *path); /* has it the name of a checkpoint? */
/* The draft becomes the checkpoint of its step, in place of one that has the name already. */
bool folder_publish(arena *a, const char *folder, int64_t step);
/* Deletes all but the newest `keep`, those that `every` divides (0: none), and `current`. */
bool folder_prune(arena *a, const char *folder, int keep, int64_t every, int64_t current);

#endif
