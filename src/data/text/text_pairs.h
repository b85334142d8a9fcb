/* The texts of a dataset, before they are tokenised, one after another.
 *
 * Files are read in sections, so that the memory that this takes does not depend on them.
 */
#ifndef DATA_TEXT_TEXT_PAIRS_H
#define DATA_TEXT_TEXT_PAIRS_H

#include "data/text/passing_text.h"

typedef struct text_pair {
    const char *inputs;  /* or the text, in files of single texts */
    const char *targets; /* NULL: the files have single texts */
} text_pair;

typedef struct text_pairs {
    mtf_session  *session;
    mtf_text_opts opts;
    documents     read;
    passing_text  passing;
    token_text    none[SIDES]; /* stays empty */
    arena         own;         /* of one section: */
    text_pair    *all;
    int           count, room, given;
    bool          open;
} text_pairs;

/* The texts that `files`, `format`, `documents`, `inputs` and `targets` of the options name; two of
 * each example where the objective is about pairs.  There is one at least.  False after an error; to be
 * closed after success, and not to be moved. */
bool text_pairs_open(text_pairs *p, mtf_session *s, const mtf_text_opts *opts);
/* The next one, valid until the next call; *there is false after the last. */
bool text_pairs_next(text_pairs *p, text_pair *to, bool *there);
void text_pairs_close(text_pairs *p);

#endif
