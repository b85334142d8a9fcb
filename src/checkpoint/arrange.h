/* Distributes a checkpoint's tensors over files. */
#ifndef CHECKPOINT_ARRANGE_H
#define CHECKPOINT_ARRANGE_H

#include "checkpoint/contents.h"

/* Before writing: sorts the tensors, distributes them over files of at most FILE_GIB of data each (unless
 * one tensor alone is larger), or into `one_file` where that is not NULL, and returns the headers, by
 * file; NULL after an error. */
enum { FILE_GIB = 4 };
const char **contents_arrange(contents *c, const char *one_file);

#endif
