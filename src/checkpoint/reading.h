/* Reading: elements of tensors from their places in files.
 *
 * Runs that lie near each other are read at once, including the gaps between
 * them.  Memory is bounded.  The sum is computed from the elements as read.
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
    part_run            *near; /* runs collected for one read */
    int                  nnear;
    char                *stage, *held; /* elements in the file's and in the variable's type */
    int                  file, descriptor;
} reader;

bool reader_open(reader *r, const contents *c, const mtf_allocator *a, part_copier copier,
                 int parts, fault *f);
void reader_close(reader *r);
/* Reads elements of the tensor in the file's type. */
bool reader_get(reader *r, const kept_tensor *t, int64_t place, void *to, int64_t count);
/* Computes every recorded sum again; true where all agree.  *summed: how many there are. */
bool reader_verify(reader *r, int *summed);
/* The largest number of its elements read at once; r->stage has room for them. */
int64_t reader_room(const kept_tensor *t);
/* Fills parts, in elements of `type`; adds to *sum the elements of those parts that count. */
bool reader_parts(reader *r, const kept_tensor *t, mtf_dtype type, int nparts,
                  const mtf_part *parts, const bool *counts, uint64_t *sum);

#endif
