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
/* Its values are compared by another test, on more meshes than here. */
bool small_model_elsewhere(int k);

#endif
