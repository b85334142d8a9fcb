/* Checksums of elements, which detect changes.
 *
 * Each element's bits are multiplied by an odd number that depends on its
 * place in the whole tensor, and the products are added modulo 2^64.  So the
 * sum of a tensor is the sum over its parts, however it is cut and in any
 * order, and a change of any one element changes it.
 */
#ifndef CHECKPOINT_CHECKSUM_H
#define CHECKPOINT_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* The sum of `count` elements of 1, 2, 4 or 8 bytes, the first of which has place `first`. */
uint64_t checksum_elements(size_t element_bytes, const void *data, int64_t count, int64_t first);
uint64_t checksum_bytes(const void *data, size_t bytes);

/* The form in files: 16 lower-case hexadecimal digits. */
enum { CHECKSUM_TEXT = 17 };
const char *checksum_text(uint64_t sum, char text[CHECKSUM_TEXT]);

#endif
