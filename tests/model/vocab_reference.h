/* Vocabularies in plain loops and in double, from their definitions. */
#ifndef TESTS_VOCAB_REFERENCE_H
#define TESTS_VOCAB_REFERENCE_H

#include "mtf_transformer.h"
#include "taken_weights.h"

enum { VOCAB = 44, PADDED = 48, D = 6, MEMBERS = 2 };

typedef struct vocab_case {
    const char    *what;
    mtf_vocab_opts o;
    bool           scaled;   /* the table is initialised like a classifier's weights */
    double         z_loss;   /* 0: none */
    bool           ensemble; /* of MEMBERS */
} vocab_case;

typedef struct weights {
    const vocab_case *of;
    taken             t;
} weights;

void reference_embed(const weights *w, int id, double *x);
/* The logits of x [D]: [PADDED]. */
void reference_logits(const weights *w, const double *x, double *logits);
/* The sum of the losses of one sequence, in training. */
double reference_loss(const weights *w, int length, const double *x, const int32_t *targets);

#endif
