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
    mtf_shape    heads;  /* that have biases of their own */
    bool         across; /* the memory is the encoder's output, and distances are those of spans */
} relative_opts;

/* What is added to the logits of queries q [.., length, ..], or NULL.  Where places decide alone it is
 * told by distance, [heads.., relative_distance]; else it is [.., length, memory], with the batch's
 * dimensions where positions do. */
mtf_tensor *relative_bias(stack_call *c, const relative_opts *o, mtf_tensor *q, mtf_dim memory);
#define RELATIVE_DISTANCE "relative_distance"
bool relative_is_by_distance(const mtf_tensor *bias); /* NULL: no */
/* Such a bias for each pair: [heads.., length, memory]; others are what they were. */
mtf_tensor *relative_spread(const stack_call *c, mtf_tensor *bias, mtf_dim memory);

#endif
