/* Values of models that references store, by the names of variables. */
#ifndef TESTS_STORED_VALUES_H
#define TESTS_STORED_VALUES_H

#include "mtf.h"

/* Gives all variables, those that are not trained as well, values that follow from their names. */
void set_variables(const mtf_graph *g);

/* Its lines: "model WHAT", "loss X", then "NAME SUM SIZE" or "NAME frozen" for each variable. */
typedef struct reference {
    char  *text;
    double loss;
    char  *variables; /* the first line of them */
    int    count;     /* of trainable ones */
} reference;

/* The lines of one model. */
void reference_find(reference *r, const char *what);
/* Compares a gradient that was fetched with that of the reference. */
void check_gradient(const reference *r, const char *what, mtf_program *p, mtf_tensor *v,
                    mtf_tensor *gradient);

#endif
