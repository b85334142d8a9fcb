/* How much an answer agrees with what is right: exact match and F1. */
#ifndef MODEL_BERT_ANSWER_SCORE_H
#define MODEL_BERT_ANSWER_SCORE_H

#include "base/byte_list.h"

typedef struct answer_score {
    bool   exact;
    double f1; /* twice the words in common over all words of both */
} answer_score;

/* Compares the words of two texts: in lower case, without punctuation of ASCII and without the articles a, an and
 * the.  Without words, an answer is right where the other has none, too. */
bool answer_compare(const char *answer, int64_t size, const char *right, int64_t right_size,
                    byte_list *scratch, answer_score *to);

#endif
