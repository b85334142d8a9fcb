/* Examples made of texts, as an objective needs them.
 *
 * Which stretches of text an example has, and which examples share a row, is decided once.  What is
 * random in an example depends on seed, epoch and the example's number; its length does not.
 */
#ifndef DATA_TEXT_EXAMPLES_H
#define DATA_TEXT_EXAMPLES_H

#include "data/convert.h"
#include "data/text/documents.h"

typedef struct text_examples {
    mtf_text_opts         opts;          /* defaults filled in */
    const mtf_vocabulary *vocabulary;    /* of targets, and of inputs but those of pairs */
    int64_t               length[SIDES]; /* of a row */
    bool                  has_inputs;    /* there are fields of inputs; else only of targets */
    bool                  two_texts;     /* each example is made of two */
    int64_t               longest;       /* tokens that an example takes of a text at most */
    token_text            text[SIDES];
    stretch              *stretches[SIDES]; /* of each example; NULL: consecutive windows */
    int64_t               count;            /* examples */
    int64_t  first; /* the number of the first: what is random in an example depends on its own */
    int64_t *rows;  /* where rows begin, count + 1 of them; NULL: one example per row */
    int64_t  nrows;
} text_examples;

/* Checks the options and fills in all but the texts. */
bool examples_check(mtf_session *s, text_examples *e);
/* Makes examples of the texts, and rows of these. */
bool examples_plan(mtf_session *s, text_examples *e);
/* The same for `count` texts that will be tokenised one by one, in any order: a row is a text.  Each is added to
 * `text`, and then made an example by example_made; until then example_is_made is false. */
bool examples_plan_later(mtf_session *s, text_examples *e, int64_t count);
bool example_is_made(const text_examples *e, int64_t k);
bool example_made(text_examples *e, int64_t k);
void examples_free(mtf_session *s, text_examples *e);

/* Tokens of an example on one side. */
int64_t example_tokens(const text_examples *e, int64_t k, int side);
/* Offers the ids of an example on one side. */
bool example_offer(const text_examples *e, int64_t k, int side, wanted *w, fault *why);

#endif
