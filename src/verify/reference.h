/* The reference: a graph evaluated on residues, node by node, on whole tensors.
 *
 * Every operation by its definition (docs/ops.md), in the order of creation.  It
 * shares no code with planning and lowering: nothing is merged, folded, fused,
 * left out or put into another order.
 */
#ifndef VERIFY_REFERENCE_H
#define VERIFY_REFERENCE_H

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

enum { REFERENCE_TURNS = 12 }; /* most iterations of a loop that a condition ends */

/* Has this operation a definition?  Composites expand into others. */
bool reference_knows(const char *name);

bool reference_open(reference *r, mtf_graph *g);
void reference_close(reference *r);
/* Bytes that a step takes: all tensors, each once. */
double reference_bytes(const mtf_graph *g);
/* Begins a trial: forgets steps and degrees. */
void reference_begin(reference *r, uint64_t key);
/* Room for an input's or a variable's elements, which the caller fills; NULL after an error. */
cell *reference_give(reference *r, const mtf_tensor *x);
/* One step: all nodes, then assignments take effect.  False after an error. */
bool reference_step(reference *r);
/* The value after the last step; a variable's is the one that it will have in the next. */
tensor_value reference_value(const reference *r, const mtf_tensor *x);

#endif
