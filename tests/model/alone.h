/* A stack alone: the embedding is its input, and its results are the logits, for comparisons in double. */
#ifndef TESTS_ALONE_H
#define TESTS_ALONE_H

#include "mtf_transformer.h"

enum { ALONE_D = 8, ALONE_LENGTH = 9, ALONE_VARIABLES = 40 };

/* Two examples, the second of one token less, and padding. */
extern const int32_t alone_segment[ALONE_LENGTH], alone_position[ALONE_LENGTH];

typedef struct alone {
    mtf_session *session;
    mtf_tensor  *variables[ALONE_VARIABLES];
    int          count;
    double       x[ALONE_LENGTH][ALONE_D];
    float        y[ALONE_LENGTH][ALONE_D];
} alone;

/* Finds the graph's variables, and gives them values; the kernel of the logits is one. */
void alone_variables(alone *a, mtf_graph *g);
/* One block of these layers, with nothing around them but what `per_layer` says. */
void alone_apply(alone *a, const mtf_stack_opts *stack, bool causal);
/* The value of the variable whose name ends so. */
void alone_values(const alone *a, const char *end, float *to);
/* x of another position, 0 where it is none of the same example. */
double alone_at(const alone *a, int t, int ahead, int d);
/* The results are these, but at padding. */
void alone_compare(const alone *a, double want[ALONE_LENGTH][ALONE_D]);

#endif
