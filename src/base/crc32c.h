/* CRC-32C (Castagnoli): the checksum of TFRecord files.
 *
 * Eight bytes a step: table k holds what a byte becomes k bytes later.  The
 * tables are computed, and kept by whoever uses them.
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

/* As TFRecord files keep it: turned by 15 bits, so that a checksum of checksums is none itself. */
static inline uint32_t crc32c_masked(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

#endif
