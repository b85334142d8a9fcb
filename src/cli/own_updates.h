/* What a model file assigns to variables itself. */
#ifndef CLI_OWN_UPDATES_H
#define CLI_OWN_UPDATES_H

#include "cli/options.h"
#include "graph/node.h"
#include "model/ready.h"

/* The assignment by which a file trains itself, so that it gets no optimizer: the first to a trainable
 * variable, or, where no variable is trainable, the first.  NULL: there is none. */
const node *own_update(mtf_graph *g);
/* Notes that no optimizer is added; an error where an option of the optimizer was given. */
bool own_update_stands(const options *o, const node *update);
/* The network without its assignments, for evaluation: a variable keeps its value.  Notes where the loss,
 * or what is right, takes a new value that is no longer made.  False after an error. */
bool own_updates_drop(const options *o, network *n);

/* Mentions that what the file assigns does not reach the checkpoint that a command has read. */
void own_updates_mention(const options *o, const mtf_graph *g);

#endif
