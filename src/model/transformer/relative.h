/* Relative positions: buckets of distances, and biases by bucket. */
#ifndef MODEL_RELATIVE_H
#define MODEL_RELATIVE_H

#include "model/transformer/stack_call.h"

/* The bucket of `relative`, the memory's position less the query's: exact near 0, logarithmic up to
 * max_distance, one for all that is farther.  Bidirectional: half of the buckets are for memory after
 * the query; else these all have bucket 0. */
int64_t relative_bucket(int64_t relative, int64_t buckets, int64_t max_distance,
                        bool bidirectional);

typedef struct relative_opts {
    mtf_relative kind;
    int64_t      buckets, max_distance;
    mtf_shape    heads; /* that have biases of their own */
} relative_opts;

/* What is added to the logits of queries q [.., length, ..], or NULL: [heads.., length, memory] where
 * places decide, with the batch's dimensions where positions do. */
mtf_tensor *relative_bias(stack_call *c, const relative_opts *o, mtf_tensor *q, mtf_dim memory);

#endif
