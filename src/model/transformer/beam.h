/* Beam search: the best sequences, a few at a time.
 *
 * It knows nothing of models: each step is given the logits of its sequences, and says which of them
 * go on, with which tokens.  Nothing is left out before it is compared.
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

/* A sequence that is followed, or has ended. */
typedef struct hypothesis {
    int32_t *ids;
    int64_t  length;
    double   log_probability, score;
} hypothesis;

typedef struct beam_search beam_search;

beam_search *beam_new(mtf_session *s, const beam_opts *o);   /* room for one search after another */
void         beam_begin(beam_search *b, const beam_opts *o); /* no more beams, vocab or tokens */
/* logits [beams, vocab] of the sequences that are followed, which at first are one, the first.  Fills
 * in for each sequence that is followed from now on whose continuation it is, and its new token. */
void beam_advance(beam_search *b, const float *logits, int32_t *parent, int32_t *token);
/* Can no sequence that is followed still be among the best? */
bool beam_done(const beam_search *b);
/* The best that have ended, best first; where none has, those that are followed. */
int beam_results(const beam_search *b, const hypothesis **list);

#endif
