/* Rows for BERT: [CLS], a text, [SEP], and maybe a second text and [SEP].
 *
 * All ids are in memory.  Which words are masked is drawn anew in each epoch.
 */
#ifndef DATA_TEXT_BERT_ROWS_H
#define DATA_TEXT_BERT_ROWS_H

#include "data/dataset.h"
#include "data/text/vocabulary.h"

enum { BERT_LEAST_LENGTH = 8, BERT_MOST_LENGTH = 4096, BERT_ROW_LABELS = 2, BERT_ROW_SPECIALS = 3 };

/* The share of words that are masked, and how many a row may have of them, where nothing else is said. */
#define BERT_MASKED 0.15
int64_t bert_usual_predictions(int64_t length, double share);

typedef struct bert_row {
    int64_t at;           /* of its ids */
    int32_t count, first; /* ids, and those up to the first [SEP], which it includes */
    int32_t from; /* of questions: the word of the text that the row's second text begins with */
    int32_t label[BERT_ROW_LABELS];
} bert_row;

/* A question whose answers are wanted as text. */
typedef struct bert_question {
    int64_t at, size;               /* its text's bytes */
    int64_t words, nwords;          /* its text's words, each of which has two places */
    int64_t answer_at, answer_size; /* bytes of what is the answer */
    int64_t row, nrows;             /* its windows */
} bert_question;

typedef struct bert_kept {
    byte_list      bytes;  /* of texts and answers */
    id_list        places; /* where each word begins and ends in its text, in bytes */
    bert_question *questions;
    int64_t        count, room;
    bool           answered; /* the files say what the answers are */
} bert_kept;

typedef struct bert_rows {
    mtf_session          *session;
    const mtf_vocabulary *vocabulary;
    const char           *files;
    int64_t               length; /* of a row */
    int32_t               begin, end, mask, padding;
    id_list               ids;
    bert_row             *rows;
    int64_t               count, room;
    int64_t               predictions; /* masked words of a row at most */
    double                share;       /* of words that are masked */
    uint64_t              seed;
    bert_kept            *kept; /* of questions: their texts; NULL: they were not asked for */
} bert_rows;

/* Finds the special words; what is added lives as long as the session. */
bool bert_rows_begin(bert_rows *r);
/* Texts that are too long together for a row are an error of the caller's; nb below 0: there is no second. */
bool bert_rows_add(bert_rows *r, const int32_t *a, int64_t na, const int32_t *b, int64_t nb,
                   const int32_t label[BERT_ROW_LABELS]);

/* What a field holds of a row. */
typedef enum bert_view {
    BERT_IDS,
    BERT_PADDING, /* 1 for words, 0 for padding */
    BERT_SEGMENTS,
    BERT_FIRST_LABEL,
    BERT_SECOND_LABEL,
    BERT_MASKED_IDS, /* some words are hidden, ... */
    BERT_POSITIONS,  /* ... these ... */
    BERT_WORDS,      /* ... which were these; ... */
    BERT_WEIGHTS     /* ... 1 for each, 0 where there are fewer */
} bert_view;

typedef struct bert_field {
    const char *name; /* NULL ends a list */
    bert_view   view;
} bert_field;

mtf_dataset *bert_rows_dataset(bert_rows *r, const bert_field *fields);
/* The rows of a dataset; NULL: it has others, such as records. */
const bert_rows *bert_rows_of(const mtf_dataset *d);

/* A row whose words are masked. */
typedef struct bert_masked {
    int32_t ids[BERT_MOST_LENGTH];
    int32_t positions[BERT_MOST_LENGTH], words[BERT_MOST_LENGTH];
    int64_t count; /* of masked words */
} bert_masked;
void bert_mask_row(const bert_rows *r, int64_t row, int64_t epoch, bert_masked *to);

#endif
