/* A graph in the making, from another whose batch is divided. */
#ifndef MICROBATCH_BUILDING_H
#define MICROBATCH_BUILDING_H

#include "microbatch/parting.h"
#include "microbatch/resize.h"

typedef struct building {
    mtf_graph *from, *to;
    mtf_dim    batch;
    int64_t    parts;
    arena     *scratch;
    parting    parting;
    /* By tensor id of `from`, tensors of `to`: the whole value; its examples in lines, one for each
     * part, outside of loops; the value in the current part. */
    mtf_tensor **whole, **lines, **here;
    bool        *copied, *named; /* by node id, by tensor id */
    images       images;         /* for nodes with blocks */
    mtf_tensor **sums;           /* of the current pass: what it adds up */
    int          nsums;
    resize_rules rules;    /* the batch becomes */
    int64_t      examples; /* those of the current part, */
    mtf_tensor  *part;     /* which has this number */
} building;

bool building_open(building *b);
/* From now on parts have so many examples. */
bool building_size(building *b, int64_t examples);
/* The value that a part needs of a whole tensor: its examples, or all of it. */
mtf_tensor *building_part_of(building *b, mtf_tensor *x);
/* Is n computed outside of loops, perhaps as well as inside? */
bool building_is_whole(const building *b, const node *n);
bool building_copy_whole(building *b, const node *n);
bool building_copy_part(building *b, const node *n);
/* Gives y, the value of x in the new graph, its name and origin. */
bool building_name(building *b, mtf_tensor *x, mtf_tensor *y);

#endif
