/* What optimizers share: gradients, rates, steps, slots, stores. */
#ifndef NN_OPTIMIZER_H
#define NN_OPTIMIZER_H

#include "graph/node.h"

/* One update of some variables, as a method receives it; no pointer in the lists is NULL. */
typedef struct update {
    const char        *who; /* the method's name, for errors */
    mtf_graph         *graph;
    int                n;
    mtf_tensor *const *variables;
    mtf_tensor *const *gradients;
    mtf_tensor        *rate;  /* f64 scalar */
    mtf_tensor        *sound; /* bool scalar: where false nothing changes; NULL: always true */
} update;

/* A method of gradient descent.  Options are the public struct of the method. */
typedef struct method {
    const char *name;
    const void *defaults; /* options that are all 0 */
    /* The rate that the options ask for, an f64 scalar. */
    mtf_tensor *(*rate)(const update *u, const void *opts);
    void (*apply)(const update *u, const void *opts);
} method;

/* Updates the variables that have a gradient, at the rate of `u`, else that of the options;
 * options NULL: the defaults. */
void optimizer_apply(const method *m, const update *u, const void *opts);
/* The same for all trainable variables and their gradients of the loss. */
void optimizer_descend(const method *m, mtf_graph *g, mtf_tensor *loss, const void *opts);

/* The trainable variables and the gradients of `scale` times the loss with respect to them (NULL:
 * of the loss itself), NULL where it does not depend on one; in the graph's arena.  Returns how many
 * there are, 0 after an error. */
int optimizer_gradients(mtf_graph *g, mtf_tensor *loss, mtf_tensor *scale, mtf_tensor ***variables,
                        mtf_tensor ***gradients);

/* The i-th variable; what is made from now on, until the method has applied, is its update. */
mtf_tensor *optimizer_variable(const update *u, int i);

/* The schedule as an f64 scalar, else the number, 0 meaning `otherwise`. */
mtf_tensor *optimizer_rate(const update *u, double rate, mtf_tensor *schedule, double otherwise);
/* Fails where x, called `what` in the message, is not a floating scalar. */
bool optimizer_is_scalar(const update *u, const char *what, const mtf_tensor *x);

/* The number of this step, from 1 on, an f64 scalar.  The first call for a graph makes "global_step"
 * count the steps for which u->sound is true. */
mtf_tensor *optimizer_step(const update *u);

/* A variable of an optimizer, called NAMEsuffix in any scope; `init` is an initialiser.  NULL after
 * an error. */
mtf_tensor *optimizer_slot(mtf_graph *g, const char *name, const char *suffix, mtf_dtype type,
                           mtf_shape shape, const char *init);
/* Stores a value, rounded to the variable's type, where `sound` is true; returns the variable's new
 * value. */
mtf_tensor *optimizer_store(mtf_tensor *sound, mtf_tensor *variable, mtf_tensor *value);
/* The same for  beta * mean + (1 - beta) * x,  in the slot `mean`. */
mtf_tensor *optimizer_average(mtf_tensor *sound, mtf_tensor *mean, mtf_tensor *x, double beta);

/* A number in f64, a scalar. */
mtf_tensor *optimizer_constant(mtf_graph *g, double value);
/* Was the variable given a value in this graph yet? */
bool optimizer_assigned(const mtf_tensor *variable);

#endif
