/* Vocabularies from a configuration. */
#ifndef MODEL_CONFIG_VOCAB_H
#define MODEL_CONFIG_VOCAB_H

#include "model/config/configurable.h"
#include "mtf_transformer.h"

/* The vocabulary of the stacks in a scope; `like_classifier`: its tables are initialised so. */
bool config_vocab(mtf_config *c, const char *scope, mtf_vocab_opts *o, bool *like_classifier);
/* The value of loss_fn: the one that the vocabulary needs, or None. */
bool config_loss(mtf_config *c, const gin_value *loss, const mtf_vocab_opts *o);

#endif
