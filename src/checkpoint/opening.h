/* Opens a checkpoint and checks everything except elements. */
#ifndef CHECKPOINT_OPENING_H
#define CHECKPOINT_OPENING_H

#include "checkpoint/contents.h"

enum { NEWEST = -1 };

/* Opens a checkpoint of mtf, a folder of them (and there step `step`, or the newest), a safetensors file,
 * a folder of such files, or a checkpoint of TensorFlow.  Checks the length and header of every file. */
bool checkpoint_open(contents *c, const char *path, int64_t step);
/* The file itself, for reading; -1 after an error. */
int checkpoint_file(const contents *c, int file);
/* Exactly these bytes of it. */
bool file_read(int descriptor, const char *path, int64_t at, void *bytes, int64_t n, fault *f);

#endif
