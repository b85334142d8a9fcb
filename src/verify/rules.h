/* What the definitions of operations share. */
#ifndef VERIFY_RULES_H
#define VERIFY_RULES_H

#include <math.h>

#include "verify/reference_state.h"
#include "verify/tour.h"

/* Computes the outputs, which come with type, shape and room, from the inputs.  False after an
 * error. */
typedef bool rule(reference *r, const node *n, const tensor_value *in, tensor_value *out);

typedef struct named_rule {
    const char *op;
    rule       *rule;
} named_rule;

/* NULL-ended tables, one for each file; elementwise operations have rows of their own. */
extern const named_rule plain_sum_rules[], plain_extreme_rules[], plain_shape_rules[],
    plain_index_rules[], plain_window_rules[], plain_control_rules[], plain_state_rules[],
    plain_attention_rules[];

rule *plain_elementwise_rule(const char *name); /* NULL where there is none */

/* Evaluates a block's nodes, parameters aside. */
bool  reference_block(reference *r, const block *b);
void  reference_bind(reference *r, const mtf_tensor *x, const tensor_value *v);
cell *reference_room(reference *r, int64_t n); /* for this step; NULL after an error */

/* Says that operands of this degree were hashed, or decided something. */
static inline void note_hashed(reference *r, double degree)
{
    r->widest = fmax(r->widest, degree);
}

static inline double larger_degree(const tensor_value *a, const tensor_value *b)
{
    return fmax(a->degree, b->degree);
}

#endif
