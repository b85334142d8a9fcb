/* Span corruption: which tokens are replaced by sentinels. */
#include "data/text/spans.h"

#include <math.h>

#include "base/philox.h"

enum { TEXT_STREAM = 0x74657874 }; /* "text": no op's stream */

span_counts spans_count(int64_t tokens, double noise, double mean_span)
{
    span_counts c;
    c.noise = (int64_t)nearbyint((double)tokens * noise);
    if (c.noise > tokens - 1) c.noise = tokens - 1;
    if (c.noise < 1) c.noise = 1;
    c.kept = tokens - c.noise;
    c.spans = (int64_t)nearbyint((double)c.noise / mean_span);
    if (c.spans > c.kept) c.spans = c.kept;
    if (c.spans > c.noise) c.spans = c.noise;
    if (c.spans < 1) c.spans = 1;
    return c;
}

/* ---- random numbers ---- */

text_random text_random_of(uint64_t seed, int64_t epoch, int64_t example, uint32_t purpose)
{
    uint64_t     number = (uint64_t)epoch;
    philox_block b =
        philox((philox_block){{(uint32_t)number, (uint32_t)(number >> 32), TEXT_STREAM, 0}},
               (uint32_t)seed, (uint32_t)(seed >> 32));
    return (text_random){
        .key = {b.word[0], b.word[1]}, .example = (uint64_t)example, .purpose = purpose};
}

/* Scales 32 random bits to 0 .. n - 1: nearly uniform for any length of a text. */
int64_t text_random_below(text_random *r, int64_t n)
{
    philox_block b = philox((philox_block){{r->drawn++, r->purpose, (uint32_t)r->example,
                                            (uint32_t)(r->example >> 32)}},
                            r->key[0], r->key[1]);
    return (int64_t)((uint64_t)b.word[0] * (uint64_t)n >> 32);
}

/* ---- cutting ---- */

/* A piece ends after an item with the probability (cuts still needed) / (places left), so that all
 * choices of places are equally likely. */
int64_t span_cutter_next(span_cutter *c)
{
    int64_t length = 0;
    while (c->pieces > 1) {
        length++;
        c->items--;
        if (text_random_below(&c->random, c->items) < c->pieces - 1) {
            c->pieces--;
            return length;
        }
    }
    length += c->items;
    c->items = 0;
    return length;
}
