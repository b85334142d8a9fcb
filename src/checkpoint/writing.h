/* Writing: elements of tensors to their places in files.
 *
 * Elements may be put in any order of parts; consecutive ones are collected
 * and written at once.  Memory is bounded, and allocated before the first
 * tensor, so that a thread may write while a step runs.
 */
#ifndef CHECKPOINT_WRITING_H
#define CHECKPOINT_WRITING_H

#include "checkpoint/contents.h"
#include "checkpoint/runs.h"

/* How much is read or written at once: it fits into a cache. */
enum { STAGE_BYTES = 1 << 20 };

typedef struct writer {
    const contents      *contents;
    const mtf_allocator *allocator;
    fault               *fault;
    part_copier          copier;
    run_cursor          *cursors;
    char                *stage, *held; /* elements in the file's and in the variable's type */
    int                  file, descriptor;
    kept_tensor         *tensor;
    mtf_dtype            type;        /* of the elements that are put */
    int64_t              begin, used; /* the staged range, in elements of the tensor */
} writer;

/* Makes the folder and its files, in full size, with their headers; for the first process. */
bool writing_prepare(const contents *c, const char *const *headers);
/* A small file beside them, written and flushed at once. */
bool writing_small(const contents *c, const char *name, const char *text, size_t bytes);
/* Room for tensors of at most `parts` parts. */
bool writer_open(writer *w, const contents *c, const mtf_allocator *a, part_copier copier,
                 int parts, fault *f);
/* Elements of type `type` for this tensor follow; its sum starts at 0. */
void writer_begin(writer *w, kept_tensor *t, mtf_dtype type);
bool writer_put(writer *w, int64_t place, const char *from, int64_t count);
bool writer_end(writer *w);
/* Writes a tensor from parts that do not overlap. */
bool writer_parts(writer *w, kept_tensor *t, mtf_dtype type, int nparts, const mtf_part *parts);
bool writer_sync(writer *w); /* flushes to the disk */
void writer_close(writer *w);

#endif
