/* Reading: elements of tensors from their places in files.
 *
 * Runs that lie near each other are read at once, the gaps between them too.
 * Memory is bounded.  The sum over the elements read grows as they pass by.
 */
#ifndef CHECKPOINT_READING_H
#define CHECKPOINT_READING_H

#include "checkpoint/contents.h"
#include "checkpoint/runs.h"

typedef struct reader {
    const contents      *contents;
    const mtf_allocator *allocator;
    fault               *fault;
    part_copier          copier;
    run_cursor          *cursors;
    part_run            *near; /* runs that wait for one reading */
    int                  nnear;
    char                *stage, *held; /* as in the file, as on the device */
    int                  file, descriptor;
} reader;

bool reader_open(reader *r, const contents *c, const mtf_allocator *a, part_copier copier,
                 int parts, fault *f);
void reader_close(reader *r);
/* Elements of the tensor as they are in the file. */
bool reader_get(reader *r, const kept_tensor *t, int64_t place, void *to, int64_t count);
/* Every sum that was written down, taken again: all agree.  *summed: how many there are. */
bool reader_verify(reader *r, int *summed);
/* How many of its elements are read at once at most; r->stage has room for them. */
int64_t reader_room(const kept_tensor *t);
/* Fills parts, in elements of `type`; adds to *sum the elements of those parts that count. */
bool reader_parts(reader *r, const kept_tensor *t, mtf_dtype type, int nparts,
                  const mtf_part *parts, const bool *counts, uint64_t *sum);

#endif
