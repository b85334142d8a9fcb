/* Settings of a training that checkpoints store. */
#ifndef CLI_TRAIN_FACTS_H
#define CLI_TRAIN_FACTS_H

#include "cli/train_setup.h"

/* Pairs, then NULL: the model's mark, the order of examples (NULL: there are none), and the optimizer's
 * settings where it is ours.
 * What changes how a step is computed but not what it computes, and the number of steps, are not among
 * them.  NULL: no memory. */
const char *const *train_facts(const setup *s, const char *mark, const char *order, bool minimized);

#endif
