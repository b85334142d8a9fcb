/* manifest.json: what a checkpoint must contain, with checksums.
 *
 * It is written last.  It holds the sums of all tensors and headers, and ends
 * with a sum over its own bytes before that field.
 */
#ifndef CHECKPOINT_MANIFEST_H
#define CHECKPOINT_MANIFEST_H

#include "checkpoint/contents.h"

extern const char manifest_name[]; /* "manifest.json" */

const char *manifest_print(const contents *c); /* in the arena; NULL after an error */
/* Fills in `c`, except the tensors' places in files, which come from the headers. */
bool manifest_parse(contents *c, const char *path, const char *text, size_t bytes);

#endif
