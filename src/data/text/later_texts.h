/* Texts of a section that are tokenised when they are read.
 *
 * Where a row is one text, or one pair, cut to its length, the number of rows of a section does not depend on
 * tokens: a process tokenises only the rows that it reads.
 */
#ifndef DATA_TEXT_LATER_TEXTS_H
#define DATA_TEXT_LATER_TEXTS_H

#include "data/text/examples.h"

typedef struct later_text {
    uint32_t at[SIDES], size[SIDES]; /* in the section's bytes; of single texts only the targets */
} later_text;

typedef struct later_texts {
    mtf_session     *own; /* of the section */
    const documents *like;
    const char      *bytes; /* of the section */
    later_text      *all;   /* a block */
    int64_t          count, room;
} later_texts;

/* Whether texts of this format can be tokenised later for these examples. */
bool later_suits(const text_examples *e, const text_format *as);
/* Takes note of a text, unless it has no tokens; as `each` of documents. */
bool later_note(void *later, const text_span *inputs, const text_span *targets);
/* After the last text: gives up the room for more. */
bool later_fit(later_texts *l);
void later_free(later_texts *l);
/* Tokenises text k, and makes example k of it. */
bool later_tokenise(const later_texts *l, int64_t k, text_examples *e);

#endif
