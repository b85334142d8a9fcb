/* Which examples make which batch. */
#ifndef DATA_ITINERARY_H
#define DATA_ITINERARY_H

#include "data/shuffle.h"
#include "mtf_data.h"

typedef struct itinerary {
    int64_t       examples, batch;
    int64_t       per_epoch; /* batches; with MTF_WRAP 0 */
    int64_t       total;     /* batches in all; INT64_MAX: without end, for all that anybody sees */
    bool          shuffle;
    uint64_t      seed;
    mtf_remainder remainder;
} itinerary;

/* total is 0 where not even one batch comes together. */
itinerary itinerary_make(int64_t examples, int64_t batch, const mtf_batches_opts *opts);
int64_t   itinerary_real(const itinerary *s, int64_t number); /* real examples of a batch */

/* One batch, with the order of the epoch that was asked for last. */
typedef struct itinerary_batch {
    const itinerary *itinerary;
    int64_t          number, epoch;
    int64_t          first, real; /* where its examples begin in the epoch; how many they are */
    shuffle          order;
} itinerary_batch;

itinerary_batch itinerary_open(const itinerary *s, int64_t number);
/* The example at a place of the batch; -1: none. */
int64_t itinerary_example(itinerary_batch *b, int64_t place);

#endif
