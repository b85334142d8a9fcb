/* A plain evaluator of graphs, one element at a time.
 *
 * Every op by its definition (docs/ops.md, docs/text.md, docs/random.md), on
 * whole tensors.  It shares no code with planning, lowering and running, so
 * that a result on which both agree is right with high probability.
 */
#ifndef ORACLE_ORACLE_H
#define ORACLE_ORACLE_H

#include "number.h"

typedef struct oracle oracle;

/* A tensor's elements, row-major. */
typedef struct value {
    mtf_dtype type;
    mtf_shape shape;
    int64_t   n;
    number   *at;
} value;

oracle *oracle_new(mtf_graph *g, uint64_t seed);
void    oracle_free(oracle *o);

/* Feeds an input, sets a variable, or says what a constant is: a copy of n elements. */
void oracle_give(oracle *o, const mtf_tensor *x, const number *elements);
/* From now on x is what it was plus `by` times the direction: for difference quotients. */
void oracle_nudge(oracle *o, const mtf_tensor *x, const double *direction, double by);

/* One step: all nodes, then assignments take effect.  False: `oracle_error` says why. */
bool        oracle_step(oracle *o);
const char *oracle_error(const oracle *o);
/* The value of the last step (of the last iteration, inside a loop); NULL where it was not computed. */
const value *oracle_value(const oracle *o, const mtf_tensor *x);
/* The largest magnitude that x had in any iteration of the last step; INFINITY where it was not definite. */
double oracle_peak(const oracle *o, const mtf_tensor *x);

/* What is wrong with the graph itself: "" or, say, draws that do not depend on a loop around them. */
const char *oracle_complaint(const oracle *o);

/* Does the oracle know this op?  Composites expand into others. */
bool oracle_knows(const char *name);

#endif
