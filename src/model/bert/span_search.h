/* Answers in one row, by the logits of where they begin and end. */
#ifndef MODEL_BERT_SPAN_SEARCH_H
#define MODEL_BERT_SPAN_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum { BERT_MOST_ANSWERS = 100 };

/* A row's logits, [length], and which positions count. */
typedef struct span_row {
    int64_t      length;
    const float *first, *last;
    int64_t      begin, end; /* positions from `begin` to `end` are the text's */
    const bool  *may_begin;  /* [length]; NULL: an answer may begin anywhere in the text */
    int          most;       /* of the likeliest beginnings, and of ends, up to BERT_MOST_ANSWERS */
    int64_t      longest;    /* positions of an answer at most */
} span_row;

typedef struct span_found {
    int32_t first, last;
    int32_t order; /* of equal scores the lower goes first */
    double  score; /* the sum of both logits */
} span_found;

/* Writes the answers that begin and end at the likeliest places, from the likeliest on; returns how many.
 * There is room for most * most. */
int span_search(const span_row *row, span_found *to);

#endif
