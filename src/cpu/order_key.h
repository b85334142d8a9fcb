/* Whole numbers with the order of floats. */
#ifndef CPU_ORDER_KEY_H
#define CPU_ORDER_KEY_H

#include <stdint.h>
#include <string.h>

/* NaN is the largest, and both zeros are equal. */
static inline uint32_t key_of_f32(float v)
{
    uint32_t bits;
    if (v != v) return UINT32_MAX;
    v += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &v, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

#endif
