/* A checkpoint's contents: tensors and their places in files. */
#ifndef CHECKPOINT_CONTENTS_H
#define CHECKPOINT_CONTENTS_H

#include <limits.h>

#include "base/crc32c.h"
#include "base/names.h"
#include "space/shape.h"

typedef struct kept_tensor {
    const char *name;
    const char *shown; /* printable form, for messages: names in files may hold any bytes */
    mtf_dtype   type;
    const char *foreign; /* the file's name of an element type that mtf lacks; NULL: see `type` */
    mtf_shape   shape;
    bool        named; /* the file names its dimensions; else they are d0, d1, ... */
    int         file;
    int64_t     at, bytes; /* in that file */
    bool        summed;
    bool        crc; /* the sum is a CRC-32C of its bytes, as bundles have it */
    uint64_t    sum; /* of its elements, where summed */
} kept_tensor;

typedef struct kept_file {
    const char *name; /* in the folder */
    int64_t     bytes;
    int64_t     header_bytes; /* before the first tensor */
    uint64_t    header_sum;   /* where there is a manifest */
} kept_file;

typedef struct contents {
    arena        *arena;
    const char   *path;   /* of the checkpoint or the file, for messages */
    const char   *folder; /* where the files are */
    kept_tensor **tensors;
    int           ntensors, tensors_room;
    name_table    by_name;
    kept_file    *files;
    int           nfiles, files_room;
    bool     manifest; /* written by mtf: the following fields are valid, and all sums are known */
    int64_t  step, position;
    uint64_t seed;
    const char *config; /* NULL: none */
    const char *format; /* "format" in the files' metadata, such as "pt" (PyTorch); NULL: none */
    const crc32c_tables *crc; /* where tensors have CRCs */
    const char **facts; /* pairs, then NULL: settings that a run which resumes from it must share */
} contents;

contents contents_make(arena *a);
/* A new tensor with a copy of this name; NULL after an error, such as a name that is taken. */
kept_tensor *contents_add(contents *c, const char *name);
/* Gives it type and shape, whose names are copied; NULL names become d0, d1, ... */
bool         contents_shape(contents *c, kept_tensor *t, mtf_dtype type, const mtf_shape *shape);
kept_tensor *contents_find(const contents *c, const char *name); /* NULL where absent */
/* A file of it and a tensor's shape, for messages, in the arena; "" where memory runs out. */
const char *contents_file(const contents *c, int file);
const char *contents_shape_text(const contents *c, const kept_tensor *t);
/* The sum of a tensor's elements, of the kind that its file has, from that of the first `place` of them,
 * which is 0 for none, and `count` more. */
uint64_t contents_sum(const contents *c, const kept_tensor *t, uint64_t sum, const void *elements,
                      int64_t count, int64_t place);
/* Whether this is the sum of its elements on record; true where none is recorded. */
bool contents_agrees(const contents *c, const kept_tensor *t, uint64_t sum, fault *f);
bool contents_path(const contents *c, int file, char path[PATH_MAX]); /* false: too long */

#endif
