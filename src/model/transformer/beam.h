/* Beam search.
 *
 * It does not depend on the model: each step takes the logits of the live sequences, and decides which
 * of them continue, with which tokens.  All continuations are compared; none is pruned before.
 */
#ifndef MODEL_BEAM_H
#define MODEL_BEAM_H

#include "base/session.h"

typedef struct beam_opts {
    int            beams;
    int64_t        vocab, max_tokens;
    double         alpha; /* scores are divided by ((5 + length) / 6)^alpha */
    const int32_t *stop;  /* tokens that end a sequence, ended by -1 */
} beam_opts;

/* A live or ended sequence. */
typedef struct hypothesis {
    int32_t *ids;
    int64_t  length;
    double   log_probability, score;
} hypothesis;

typedef struct beam_search beam_search;

beam_search *beam_new(mtf_session *s, const beam_opts *o); /* for searches one after another */
void beam_begin(beam_search *b, const beam_opts *o); /* its sizes are at most those of beam_new */
/* Takes logits [beams, vocab] of the live sequences, at first only of the first one.  Gives for each new
 * live sequence the one that it continues, and its new token. */
void beam_advance(beam_search *b, const float *logits, int32_t *parent, int32_t *token);
/* Whether no live sequence can still be among the best. */
bool beam_done(const beam_search *b);
/* The ended sequences, best first, and then, where they are fewer than the beams, the live ones, best first. */
int beam_results(beam_search *b, const hypothesis **list);

#endif
