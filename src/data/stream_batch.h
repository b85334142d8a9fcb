/* Which examples of a stream make which batch. */
#ifndef DATA_STREAM_BATCH_H
#define DATA_STREAM_BATCH_H

#include "base/session.h"
#include "data/row_stream.h"
#include "mtf_data.h"

typedef struct stream_batch {
    row_stream    stream;        /* after the batch that was made last */
    int64_t       batch, passes; /* passes 0: without end */
    mtf_remainder remainder;
    int64_t       real;          /* different examples of the batch */
    int64_t      *rows, *epochs; /* of each place; row -1: none */
    row_cursor   *after;         /* of each place: where the stream was after it */
} stream_batch;

bool stream_batch_open(mtf_session *s, const row_sections *sections, int64_t batch,
                       const mtf_batches_opts *opts, stream_batch *b);
/* The next batch; real is 0 after the last. */
bool stream_batch_next(stream_batch *b, fault *why);
/* Goes to batch `number` of all from the beginning; *there is false where there are fewer. */
bool stream_batch_seek(stream_batch *b, int64_t number, bool *there, fault *why);

#endif
