/* CRC-32C (Castagnoli): the checksum of TensorFlow's files.
 *
 * Takes eight bytes at a time: table k holds the effect of a byte on the
 * checksum k bytes later.  The caller fills the tables once and keeps them.
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

typedef struct crc32c_tables {
    uint32_t after[8][256];
} crc32c_tables;

void     crc32c_fill(crc32c_tables *t);
uint32_t crc32c(const crc32c_tables *t, const void *bytes, size_t n);
/* The checksum of bytes that have the checksum `crc`, which of none is 0, and of those that follow. */
uint32_t crc32c_more(const crc32c_tables *t, uint32_t crc, const void *bytes, size_t n);

/* As files store it: rotated, plus a constant, since the CRC of data that contains its own CRC is always
 * the same. */
static inline uint32_t crc32c_masked(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static inline uint32_t crc32c_unmasked(uint32_t masked)
{
    uint32_t rotated = masked - 0xa282ead8u;
    return rotated << 15 | rotated >> 17;
}

#endif
