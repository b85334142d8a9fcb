/* Which examples make which batch. */
#ifndef DATA_BATCH_SCHEDULE_H
#define DATA_BATCH_SCHEDULE_H

#include "data/shuffle.h"
#include "mtf_data.h"

typedef struct batch_schedule {
    int64_t       examples, batch;
    int64_t       per_epoch; /* batches; with MTF_WRAP 0 */
    int64_t       total;     /* batches in all; INT64_MAX: practically without end */
    bool          shuffle;
    uint64_t      seed;
    mtf_remainder remainder;
} batch_schedule;

/* total is 0 where there are too few examples for one batch. */
batch_schedule batch_schedule_make(int64_t examples, int64_t batch, const mtf_batches_opts *opts);
int64_t batch_schedule_real(const batch_schedule *s, int64_t number); /* real examples of a batch */
/* Passes through the examples that the first `batches` batches make. */
double batch_schedule_epochs(const batch_schedule *s, int64_t batches);

/* One batch, and the order of the epoch that was needed last. */
typedef struct scheduled_batch {
    const batch_schedule *schedule;
    int64_t               number, epoch;
    int64_t first, real; /* where its examples begin in the epoch; how many they are */
    shuffle order;
} scheduled_batch;

/* The largest number up to `most`, at least 1, that divides the batch. */
int64_t largest_divisor(int64_t batch, int64_t most);

scheduled_batch batch_schedule_open(const batch_schedule *s, int64_t number);
/* The example at a place of the batch; -1: none. */
int64_t batch_schedule_example(scheduled_batch *b, int64_t place);

#endif
