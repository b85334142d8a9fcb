/* CRC-32C (Castagnoli): the checksum of TensorFlow's files. */
#include "base/crc32c.h"

static const uint32_t polynomial = 0x82f63b78u; /* bit-reversed: bit 0 is the highest power */

void crc32c_fill(crc32c_tables *t)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++) rest = rest >> 1 ^ (rest & 1 ? polynomial : 0);
        t->after[0][byte] = rest;
    }
    for (int k = 1; k < 8; k++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = t->after[k - 1][byte];
            t->after[k][byte] = before >> 8 ^ t->after[0][before & 0xff];
        }
}

uint32_t crc32c(const crc32c_tables *t, const void *bytes, size_t n)
{
    return crc32c_more(t, 0, bytes, n);
}

uint32_t crc32c_more(const crc32c_tables *t, uint32_t crc, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    crc = ~crc;
    for (; n >= 8; n -= 8, at += 8) {
        uint32_t first = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                                (uint32_t)at[3] << 24);
        crc = t->after[7][first & 0xff] ^ t->after[6][first >> 8 & 0xff] ^
              t->after[5][first >> 16 & 0xff] ^ t->after[4][first >> 24] ^ t->after[3][at[4]] ^
              t->after[2][at[5]] ^ t->after[1][at[6]] ^ t->after[0][at[7]];
    }
    for (; n > 0; n--, at++) crc = crc >> 8 ^ t->after[0][(crc ^ *at) & 0xff];
    return ~crc;
}
