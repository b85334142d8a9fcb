/* The reference: a graph evaluated on residues, node by node, on whole tensors.
 *
 * Every operation by its definition (docs/ops.md), in the order of creation.  It
 * shares no code with planning and lowering: nothing is merged, folded, fused,
 * left out or put into another order.
 */
#ifndef VERIFY_REFERENCE_H
#define VERIFY_REFERENCE_H

#include "verify/reference_state.h"

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
