/* What the reference keeps of tensors while it runs. */
#ifndef VERIFY_REFERENCE_STATE_H
#define VERIFY_REFERENCE_STATE_H

#include "graph/node.h"
#include "verify/exact.h"

/* A tensor's elements, row-major. */
typedef struct tensor_value {
    mtf_dtype        type;
    const mtf_shape *shape;
    int64_t          n;
    cell            *at;     /* NULL: not computed */
    double           degree; /* of its elements, as polynomials in what was drawn last */
} tensor_value;

typedef struct reference {
    mtf_graph    *graph;
    exact         exact;
    arena         lasting; /* inputs and variables */
    arena         scratch; /* what a step computes */
    tensor_value *values;  /* by tensor id; inside of loops, of the last iteration */
    cell        **given;   /* by tensor id: inputs, and variables at the start of a step */
    cell        **fresh;   /* by tensor id: room for what is assigned */
    cell        **now;    /* by tensor id: variables after the assignments so far; NULL: none yet */
    double        widest; /* the largest degree of an operand of a hash or of a decision */
    int64_t       hashes;
    bool          cut_short; /* a loop was left although its condition still held */
} reference;

enum { REFERENCE_ITERATIONS = 12 }; /* most iterations of a loop that a condition ends */

#endif
