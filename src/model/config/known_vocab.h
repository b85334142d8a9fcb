/* Parameters of vocabularies. */
#ifndef MODEL_KNOWN_VOCAB_H
#define MODEL_KNOWN_VOCAB_H

#include "model/config/known.h"

typedef struct embedding_args {
    const gin_value *class, *clusters;
    int64_t inner, softmaxes, gate_size, last_frequent;
    double  frequent, dropout, noise;
    bool    like_classifier;
} embedding_args;

extern const configurable known_embedding_class, known_vocab_embedding, known_factorized,
    known_adaptive_embedding, known_adaptive_softmax, known_adaptive_loss, known_softmaxes,
    known_mixtape;

#endif
