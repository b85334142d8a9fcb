/* Bundles: TensorFlow's checkpoints, an index and files with elements.
 *
 * PREFIX.index is a sorted table of messages: with an empty name what holds for the whole, then for each
 * tensor its type, its sizes, in which of the files PREFIX.data-00000-of-00002, ... it is, where there, and
 * the CRC of its elements.  Dimensions have no names.
 */
#ifndef CHECKPOINT_BUNDLE_H
#define CHECKPOINT_BUNDLE_H

#include "base/byte_list.h"
#include "checkpoint/contents.h"

/* The path of the index that `path` means: an index, or what it begins with, or in a folder the newest, by
 * its file "checkpoint" or else by the numbers of steps.  NULL: it means none, or an error. */
const char *bundle_index_path(arena *a, const char *path);
/* Adds the tensors of an index, whose bytes are given, and the names of its files; the step is the number in
 * its name. */
bool bundle_parse(contents *c, const char *path, const void *bytes, size_t n);
/* Whether all tensors lie inside the files, whose lengths are known by now. */
bool bundle_fits(const contents *c);

/* Appends an index for tensors of one file, sorted by name, whose sums are CRCs. */
bool bundle_print(const contents *c, byte_list *to);

#endif
