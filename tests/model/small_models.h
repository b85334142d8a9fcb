/* Small Transformers, one for each option, for tests. */
#ifndef TESTS_SMALL_MODELS_H
#define TESTS_SMALL_MODELS_H

#include "mtf_transformer.h"

enum { SMALL_VOCAB = 50 };

int small_models(void); /* how many there are */
/* Model k, and what it is; it has dropout in training where `dropout`. */
mtf_transformer *small_model(mtf_session *s, int k, bool dropout, const char **what);
/* The same; composed: attention is made of products and a softmax. */
mtf_transformer *small_model_by(mtf_session *s, int k, bool dropout, bool composed,
                                const char **what);
bool             small_model_has_encoder(int k);
/* It is not in tests/reference/transformer_values.txt: another test has values of its layers. */
bool small_model_elsewhere(int k);
/* Does it pool the encoder's positions?  Then results depend on where in its row an example begins. */
bool small_model_pools(int k);

#endif
