/* Answers to questions while their rows come. */
#ifndef MODEL_BERT_BERT_ANSWERS_H
#define MODEL_BERT_BERT_ANSWERS_H

#include "data/text/bert_rows.h"
#include "data/text/tsv_line.h"
#include "model/bert/span_search.h"
#include "mtf_bert.h"

/* What a row's logits say. */
typedef struct row_answers {
    span_found *found; /* the likeliest with different texts, `most` of them at most */
    int         count;
    int64_t     length; /* of its logits */
    double      lacks;  /* the score of no answer; INFINITY: its logits have not come */
} row_answers;

struct mtf_bert_answers {
    mtf_session          *session;
    mtf_dataset          *data;
    const bert_rows      *rows; /* with the texts kept; NULL: records, each a question by itself */
    mtf_bert_answers_opts opts;
    int64_t               nrows;
    row_answers          *at;  /* by row */
    arena                 own; /* of one call, and of what it gives until the next */
    byte_list             scratch;
};

/* `n` numbers of a record's field, until the next call of a public function; NULL after an error. */
const int32_t *answers_numbers(mtf_bert_answers *a, const char *name, int64_t row, int64_t n);
/* What tells an answer from others of its question: the bytes of its text or, of records, of its ids, which are
 * `ids`. */
text_span answers_key(const mtf_bert_answers *a, int64_t row, const int32_t *ids,
                      const span_found *f);
bool      answers_same(text_span a, text_span b);
/* The text that a key stands for; NULL after an error. */
const char *answers_text(mtf_bert_answers *a, text_span key);

#endif
