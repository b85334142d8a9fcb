/* Span corruption: which tokens are replaced by sentinels.
 *
 * As in T5: a share of the tokens is noise, in spans of some
 * mean length; noise and the rest are cut into equally many
 * pieces, all ways of cutting being equally likely, and
 * alternate, the rest first. The length of the result depends
 * on the text's length alone.
 */
#ifndef DATA_TEXT_SPANS_H
#define DATA_TEXT_SPANS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct span_counts {
    int64_t kept, noise; /* tokens */
    int64_t spans;
} span_counts;

/* Of a text of at least two tokens. */
span_counts spans_count(int64_t tokens, double noise, double mean_span);

/* A source of random numbers, which depend on these fields only. */
typedef struct text_random {
    uint32_t key[2];
    uint64_t example;
    uint32_t purpose, drawn;
} text_random;

text_random text_random_of(uint64_t seed, int64_t epoch, int64_t example, uint32_t purpose);
/* From 0 to n - 1; n is from 1 to 2^31. */
int64_t text_random_below(text_random *r, int64_t n);

/* Cuts items into pieces of at least one, all ways being equally likely. */
typedef struct span_cutter {
    text_random random;
    int64_t     items, pieces; /* that remain */
} span_cutter;

int64_t span_cutter_next(span_cutter *c); /* items of the next piece */

#endif
