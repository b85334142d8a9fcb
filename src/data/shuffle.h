/* The order of examples: a permutation that needs no table.
 *
 * Any process can compute the example at place k of an epoch by itself, without
 * the examples before it.
 */
#ifndef DATA_SHUFFLE_H
#define DATA_SHUFFLE_H

#include <stdint.h>

enum { SHUFFLE_ROUNDS = 8 };

/* One epoch's order of n examples. */
typedef struct shuffle {
    uint64_t n;
    unsigned half_bits; /* a number is two halves of half_bits each, which hold n */
    uint32_t key[SHUFFLE_ROUNDS];
} shuffle;

shuffle shuffle_of_epoch(uint64_t seed, int64_t epoch, int64_t n); /* n at least 1 */
/* Orders of the sections of an epoch, and of the examples of a window; that of window 0 is the epoch's. */
shuffle shuffle_of_sections(uint64_t seed, int64_t epoch, int64_t n);
shuffle shuffle_of_window(uint64_t seed, int64_t epoch, int64_t window, int64_t n);
int64_t shuffle_at(const shuffle *o, int64_t place); /* place in [0, n) */

#endif
