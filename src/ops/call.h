/* Helpers for composites and for ops with a dimension as attribute. */
#ifndef OPS_CALL_H
#define OPS_CALL_H

#include "graph/node.h"

/* The dimension of x with this name, or an error that names op, tensor and shape. */
bool call_dim(const op *o, const mtf_tensor *x, const char *name, mtf_dim *dim);
/* The same inside a composite, for its first input and the attribute at `which`. */
bool call_attr_dim(const op_call *c, int which, mtf_dim *dim);
/* Fails where i32 positions cannot count so many elements. */
bool call_positions(const op *o, mtf_graph *g, int64_t elements);
/* Whether targets have these dimensions, in any order; else an error that names the loss and the tensors. */
bool call_targets(const char *loss, const mtf_tensor *logits, const mtf_tensor *targets,
                  mtf_shape wanted);
/* A constant, as exactly as its type can hold the number. */
mtf_tensor *call_constant(mtf_graph *g, attr_number value, mtf_dtype type, const mtf_shape *shape);

#endif
