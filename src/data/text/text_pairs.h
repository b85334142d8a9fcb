/* The texts of a dataset, before they are tokenised. */
#ifndef DATA_TEXT_TEXT_PAIRS_H
#define DATA_TEXT_TEXT_PAIRS_H

#include "data/text/documents.h"

typedef struct text_pair {
    const char *inputs; /* or the text, in files of single texts */
    const char *targets; /* NULL: the files have single texts */
} text_pair;

typedef struct text_pairs {
    text_pair *all;
    int        count, room;
} text_pairs;

/* The texts that `files`, `format`, `documents`, `inputs` and `targets` of the options name; two of
 * each example where the objective is about pairs.  They live as long as the session. */
bool text_pairs_read(mtf_session *s, const mtf_text_opts *opts, text_pairs *to);

#endif
