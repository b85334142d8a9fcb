/* Random numbers that are the same in every run. */
#ifndef TESTS_MACHINE_RANDOM_NUMBERS_H
#define TESTS_MACHINE_RANDOM_NUMBERS_H

#include <stdint.h>

static uint64_t seed_state;

static inline uint64_t random_bits(void)
{
    uint64_t z = seed_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline int64_t pick(int64_t low, int64_t high) /* inclusive */
{
    return low + (int64_t)(random_bits() % (uint64_t)(high - low + 1));
}

#endif
