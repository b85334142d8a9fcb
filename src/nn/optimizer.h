/* What optimizers share: gradients of a loss, slots. */
#ifndef NN_OPTIMIZER_H
#define NN_OPTIMIZER_H

#include "graph/node.h"

/* The trainable variables and the loss's gradients with respect to them, NULL where it does not
 * depend on one; in the graph's arena.  Returns how many there are, 0 after an error. */
int optimizer_gradients(mtf_graph *g, mtf_tensor *loss, mtf_tensor ***variables,
                        mtf_tensor ***gradients);

/* A variable of an optimizer's own, zeros at first and called NAME/suffix, or as `suffix` says where
 * the name is "", whatever the scope; NULL after an error. */
mtf_tensor *optimizer_slot(mtf_graph *g, const char *name, const char *suffix, mtf_dtype type,
                           mtf_shape shape);

#endif
