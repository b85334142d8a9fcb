/* manifest.json: what a checkpoint should be, and how to tell.
 *
 * It is written last.  Its own last field is a sum over all bytes before it;
 * the sums of all else are in it.
 */
#ifndef CHECKPOINT_MANIFEST_H
#define CHECKPOINT_MANIFEST_H

#include "checkpoint/contents.h"

extern const char manifest_name[]; /* "manifest.json" */

const char *manifest_print(const contents *c); /* in the arena; NULL after an error */
/* Fills in `c` but for places in files, which their headers tell. */
bool manifest_parse(contents *c, const char *path, const char *text, size_t bytes);

#endif
