/* Relative positions: buckets of distances, and biases by bucket. */
#ifndef MODEL_RELATIVE_H
#define MODEL_RELATIVE_H

#include "model/transformer/stack_call.h"

typedef struct relative_opts {
    mtf_relative kind;
    int64_t      buckets, max_distance;
    mtf_shape    heads;  /* that have separate biases */
    int64_t      window; /* of local attention, whose layers share a table of their own; 0: none */
    bool         across; /* the memory is the encoder's output, and distances are those of spans */
} relative_opts;

/* Can there be so many buckets up to this distance?  An error if not. */
bool relative_check(fault *f, const char *layer, mtf_relative kind, int64_t buckets,
                    int64_t max_distance);
/* The bucket of `relative`, the memory's position minus the query's: one for each small distance,
 * logarithmic up to max_distance, one for all longer distances.  Bidirectional: half of the buckets are
 * for memory after the query; else such memory has bucket 0. */
int64_t relative_bucket(int64_t relative, int64_t buckets, int64_t max_distance,
                        bool bidirectional);

/* The bias for the logits of queries q [.., length, ..], or NULL.  Where it depends only on the distance
 * it is [heads.., relative_distance]; else it is [.., length, memory], with the batch's dimensions where
 * positions have them. */
mtf_tensor *relative_bias(stack_call *c, const relative_opts *o, mtf_tensor *q, mtf_dim memory);
#define RELATIVE_DISTANCE "relative_distance"
bool relative_is_by_distance(const mtf_tensor *bias); /* NULL: no */
/* Expands a bias by distance to [heads.., length, memory]; returns others unchanged. */
mtf_tensor *relative_spread(const stack_call *c, mtf_tensor *bias, mtf_dim memory);

#endif
