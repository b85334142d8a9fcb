/* The positions around each position, of the same example. */
#ifndef MODEL_NEIGHBOURS_H
#define MODEL_NEIGHBOURS_H

#include "model/transformer/stack_call.h"

typedef struct neighbours {
    const stack_call *call;
    mtf_tensor       *x; /* in CALL_DECODE after the inputs that precede it */
    int64_t           before;
} neighbours;

/* Of x [batch.., length, rest..]: those up to `before` positions before each, and any after it; in
 * CALL_DECODE there are none after it, and earlier inputs are kept under this name. */
neighbours neighbours_of(const stack_call *c, const char *name, mtf_tensor *x, int64_t before);
/* x so many positions ahead of each, or behind where negative; zero where its example has none. */
mtf_tensor *neighbour(const neighbours *n, int64_t ahead);

#endif
