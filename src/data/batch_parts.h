/* What this process needs of a batch: parts of examples.
 *
 * The program is asked once for its inputs' parts.  Each distinct part has its
 * place in a buffer for a batch, in the processors' order of elements, so that
 * they read it there without copying.
 */
#ifndef DATA_BATCH_PARTS_H
#define DATA_BATCH_PARTS_H

#include "data/dataset.h"

/* One distinct part of an input. */
typedef struct batch_part {
    mtf_part where;       /* as the first of its processors needs it */
    size_t   at;          /* in the buffer */
    int      run_dims;    /* trailing dimensions that are one run, of an example as of the part */
    int64_t  run, runs;   /* elements of a run; runs of an example, 0 where the part is empty */
    int64_t  first, span; /* the example's elements from the first to the last that is needed */
} batch_part;

/* One input and the field that feeds it. */
typedef struct batch_feed {
    mtf_tensor  *input;
    const field *field;
    mtf_shape    shape;
    mtf_dtype    type;
    int          batch_dim;
    int64_t      elements; /* of an example */
    batch_part  *parts;
    int          nparts, room;
} batch_feed;

typedef struct batch_plan {
    mtf_program *program;
    int64_t      batch; /* examples */
    batch_feed  *feeds;
    int          nfeeds;
    size_t       bytes, scratch_bytes; /* of a buffer; of working space */
} batch_plan;

/* Matches inputs and fields; `dim` counts the examples. */
bool batch_plan_make(mtf_dataset *d, mtf_program *p, const char *dim, batch_plan *plan);

/* The number of the example at a place of the batch, and its epoch; -1: zeros. */
typedef int64_t batch_example(void *context, int64_t place, int64_t *epoch);
/* Fills a buffer. */
bool batch_read(const batch_plan *plan, batch_example *example, void *context, char *buffer,
                char *scratch, fault *why);
/* Feeds a buffer without copying: it must not change until another is lent, or it is taken back. */
bool batch_lend(const batch_plan *plan, const char *buffer);
void batch_take_back(const batch_plan *plan);

#endif
