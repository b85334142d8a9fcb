/* Snappy, a format of compressed bytes: pieces, and copies of earlier ones. */
#ifndef BASE_SNAPPY_H
#define BASE_SNAPPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many bytes these expand to; false where they are too few for that many. */
bool snappy_length(const uint8_t *from, size_t n, size_t *length);
/* Expands them to `length` bytes exactly; false where that is not what they say. */
bool snappy_expand(const uint8_t *from, size_t n, uint8_t *to, size_t length);

#endif
