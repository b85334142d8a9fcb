/* What optimizers share: gradients, rates, steps, slots, stores. */
#ifndef NN_OPTIMIZER_H
#define NN_OPTIMIZER_H

#include "graph/node.h"

/* One update of some variables, none of them NULL: as a method gets it. */
typedef struct update {
    const char        *who; /* the method's name, for errors */
    mtf_graph         *graph;
    int                n;
    mtf_tensor *const *variables;
    mtf_tensor *const *gradients;
    mtf_tensor        *rate;  /* f64 scalar */
    mtf_tensor        *sound; /* bool scalar: where false nothing changes; NULL: always true */
} update;

/* A way to descend.  Options are the public struct of the method. */
typedef struct method {
    const char *name;
    const void *defaults; /* options that are all 0 */
    /* The rate that the options ask for, an f64 scalar. */
    mtf_tensor *(*rate)(const update *u, const void *opts);
    void (*apply)(const update *u, const void *opts);
} method;

/* Updates the variables that have a gradient, at the rate that `u` has, else at what the options say;
 * options NULL: the defaults. */
void optimizer_apply(const method *m, const update *u, const void *opts);
/* The same for all trainable variables and their gradients of the loss. */
void optimizer_descend(const method *m, mtf_graph *g, mtf_tensor *loss, const void *opts);

/* The trainable variables and the gradients of `scale` times the loss with respect to them (NULL:
 * of the loss itself), NULL where it does not depend on one; in the graph's arena.  Returns how many
 * there are, 0 after an error. */
int optimizer_gradients(mtf_graph *g, mtf_tensor *loss, mtf_tensor *scale, mtf_tensor ***variables,
                        mtf_tensor ***gradients);

/* The schedule as an f64 scalar, else the number, 0 meaning `otherwise`. */
mtf_tensor *optimizer_rate(const update *u, double rate, mtf_tensor *schedule, double otherwise);
/* Is x, called `what` in the sentence, a floating scalar?  An error where not. */
bool optimizer_is_scalar(const update *u, const char *what, const mtf_tensor *x);

/* The number of this step, from 1 on, an f64 scalar.  The first call for a graph makes "global_step"
 * count the steps that are sound. */
mtf_tensor *optimizer_step(const update *u);

/* A variable of an optimizer's own, called NAMEsuffix whatever the scope; `init` as variables have it;
 * NULL after an error. */
mtf_tensor *optimizer_slot(mtf_graph *g, const char *name, const char *suffix, mtf_dtype type,
                           mtf_shape shape, const char *init);
/* Stores a value, rounded to the variable's type, unless the step is unsound; gives what the variable
 * has then. */
mtf_tensor *optimizer_store(mtf_tensor *sound, mtf_tensor *variable, mtf_tensor *value);
/* The same for  beta * mean + (1 - beta) * x,  in the slot `mean`. */
mtf_tensor *optimizer_average(mtf_tensor *sound, mtf_tensor *mean, mtf_tensor *x, double beta);

/* A number in f64, a scalar. */
mtf_tensor *optimizer_constant(mtf_graph *g, double value);
/* Was the variable given a value in this graph yet? */
bool optimizer_assigned(const mtf_tensor *variable);

#endif
