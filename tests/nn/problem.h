/* The problem that tests of optimizers minimize.
 *
 * The mean of tanh(x w + c)^2, minus w[0, 0] c[1], plus the mean of (x u)^2, as
 * in tests/reference/optimizers.py.
 */
#ifndef TESTS_NN_PROBLEM_H
#define TESTS_NN_PROBLEM_H

#include "mtf_nn.h"

enum { PROBLEM_STEPS = 10, PROBLEM_VARIABLES = 3 };

typedef struct problem {
    mtf_tensor *x;                    /* [n=7, a=3] */
    mtf_tensor *v[PROBLEM_VARIABLES]; /* w [a, b=5]; layer/c [b]; u [a, b, d=2] */
    mtf_tensor *loss;
} problem;

problem problem_build(mtf_graph *g, mtf_dtype type);
/* The same on an x that is there already, of any n. */
problem problem_on(mtf_graph *g, mtf_tensor *x);

/* Calls `visit` with every legal layout of some small meshes. */
void problem_layouts(void (*visit)(void *context, const mtf_session_opts *opts), void *context);

#endif
