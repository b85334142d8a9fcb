/* The variables of a graph by name, for plain loops. */
#ifndef TESTS_TAKEN_WEIGHTS_H
#define TESTS_TAKEN_WEIGHTS_H

#include "mtf.h"

enum { MOST_WEIGHTS = 16 };

/* A variable's elements; of an ensemble those of all members. */
typedef struct weight {
    char        name[80];
    double     *x;
    int64_t     n; /* of one member */
    mtf_tensor *variable;
} weight;

typedef struct taken {
    weight all[MOST_WEIGHTS];
    int    n, member; /* whose weights are found */
} taken;

/* The trainable f64 variables with their values; to be freed. */
void take_weights(mtf_graph *g, int members, taken *t);
void free_weights(taken *t);
/* The elements of the variable whose name ends so; ends the program where there is none. */
const double *weight_of(const taken *t, const char *name);
/* Other values, so that those that start as 0 or 1 count: of the order of `scale`. */
void stir_weights(taken *t, double scale);

#endif
