/* BLEU: n-grams that texts share with their references. */
#ifndef MODEL_BLEU_H
#define MODEL_BLEU_H

#include "base/session.h"

enum { BLEU_ORDER = 4 };

typedef struct bleu {
    double  score;                 /* from 0 to 100 */
    double  precision[BLEU_ORDER]; /* of n-grams, from 0 to 100, smoothed */
    double  brevity;               /* the penalty, at most 1 */
    int64_t words, reference_words;
} bleu;

/* The n-grams of texts, and those of them that their references have. */
typedef struct bleu_counts {
    int64_t right[BLEU_ORDER], all[BLEU_ORDER];
    int64_t words, reference_words;
} bleu_counts;

/* Counts a text with its reference.  False: no memory. */
bool bleu_add(mtf_session *s, const char *text, const char *reference, bleu_counts *to);
/* Of all texts together, each with one reference: words as mteval-v13a has them, their case as it is,
 * n-grams up to 4, precisions of 0 smoothed exponentially.  These are the defaults of sacrebleu. */
void bleu_of(const bleu_counts *c, bleu *to);

/* The words of a text, as mteval-v13a takes them apart; for tests.  A block with them, separated by
 * blanks, to be freed with block_free; NULL: no memory. */
char *bleu_words(mtf_session *s, const char *text);

#endif
