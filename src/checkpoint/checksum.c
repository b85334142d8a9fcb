/* Checksums of elements, which detect changes. */
#include "checkpoint/checksum.h"

#include <stdio.h>

/* A pseudo-random odd number. */
static inline uint32_t weight(uint64_t place)
{
    uint32_t x = (uint32_t)place + (uint32_t)(place >> 32) * 0xb504f333u;
    x *= 0x9e3779b1u;
    x = (x ^ x >> 15) * 0xb504f333u;
    return (x ^ x >> 16) | 1;
}

/* sum over i of data[i] * weight(first + i); a product of two 32-bit numbers fits 64 bits. */
#define SUM_SHORT(type)                                                                            \
    static uint64_t sum_##type(const type *data, int64_t count, uint64_t first)                    \
    {                                                                                              \
        uint64_t sum = 0;                                                                          \
        for (int64_t i = 0; i < count; i++)                                                        \
            sum += (uint64_t)data[i] * weight(first + (uint64_t)i);                                \
        return sum;                                                                                \
    }

SUM_SHORT(uint8_t)
SUM_SHORT(uint16_t)
SUM_SHORT(uint32_t)

/* The weight has 64 bits as well: modulo 2^64, multiplying by an odd number is one to one.  The upper
 * half is first xored into the lower: round doubles are zero there, and would reach few bits of the sum. */
static uint64_t sum_uint64_t(const uint64_t *data, int64_t count, uint64_t first)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t at = 2 * (first + (uint64_t)i);
        sum += (data[i] ^ data[i] >> 32) * ((uint64_t)weight(at) << 32 | weight(at + 1));
    }
    return sum;
}

uint64_t checksum_elements(size_t element_bytes, const void *data, int64_t count, int64_t first)
{
    switch (element_bytes) {
    case 1: return sum_uint8_t(data, count, (uint64_t)first);
    case 2: return sum_uint16_t(data, count, (uint64_t)first);
    case 4: return sum_uint32_t(data, count, (uint64_t)first);
    default: return sum_uint64_t(data, count, (uint64_t)first);
    }
}

uint64_t checksum_bytes(const void *data, size_t bytes)
{
    return sum_uint8_t(data, (int64_t)bytes, 0);
}

const char *checksum_text(uint64_t sum, char text[CHECKSUM_TEXT])
{
    snprintf(text, CHECKSUM_TEXT, "%016llx", (unsigned long long)sum);
    return text;
}
