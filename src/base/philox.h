/* Philox4x32-10: random numbers as a function of position.
 *
 * Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3
 * (2011).  A block of four 32-bit words follows from a counter and a key by
 * ten rounds; there is no state, so any processor can draw any element.
 * docs/random.md says how elements of tensors map to counters.
 */
#ifndef BASE_PHILOX_H
#define BASE_PHILOX_H

#include <stdint.h>

typedef struct philox_block {
    uint32_t word[4];
} philox_block;

static inline philox_block philox_rounds(philox_block counter, uint32_t key0, uint32_t key1,
                                         int rounds)
{
    philox_block c = counter;
    for (int round = 0; round < rounds; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c.word[0], b = (uint64_t)0xCD9E8D57u * c.word[2];
        c = (philox_block){{(uint32_t)(b >> 32) ^ c.word[1] ^ key0, (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c.word[3] ^ key1, (uint32_t)a}};
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return c;
}

static inline philox_block philox(philox_block counter, uint32_t key0, uint32_t key1)
{
    return philox_rounds(counter, key0, key1, 10);
}

/* What a stream depends on: the session's seed, the op's key, the step. */
typedef struct philox_stream {
    uint64_t seed;
    uint32_t op, step;
} philox_stream;

/* Block number `index` of a stream. */
static inline philox_block philox_at(philox_stream s, uint64_t index)
{
    return philox((philox_block){{(uint32_t)index, (uint32_t)(index >> 32), s.op, s.step}},
                  (uint32_t)s.seed, (uint32_t)(s.seed >> 32));
}

/* Flags, as dropout draws them: eight from a block of seven rounds, each from 15 bits. */
enum { PHILOX_FLAGS = 8, PHILOX_FLAG_ROUNDS = 7, PHILOX_FLAG_ONE = 1 << 15 };

/* Of the numbers below PHILOX_FLAG_ONE, how many set a flag of this probability. */
static inline uint32_t philox_flag_share(double probability)
{
    return (uint32_t)(probability * PHILOX_FLAG_ONE + 0.5);
}

/* Block number `index` of flags. */
static inline philox_block philox_flags_at(philox_stream s, uint64_t index)
{
    return philox_rounds((philox_block){{(uint32_t)index, (uint32_t)(index >> 32), s.op, s.step}},
                         (uint32_t)s.seed, (uint32_t)(s.seed >> 32), PHILOX_FLAG_ROUNDS);
}

/* The number that decides about flag g, from its block. */
static inline uint32_t philox_flag(const philox_block *b, uint64_t g)
{
    return b->word[g % PHILOX_FLAGS / 2] >> g % 2 * 16 & (PHILOX_FLAG_ONE - 1);
}

/* The stream for one iteration of a loop and one of a loop inside it; 0 where there is no loop.
 * Every pair of iterations has a block of its own, and all of it goes into the stream. */
static inline philox_stream philox_iterations(philox_stream s, uint32_t outer, uint32_t inner)
{
    philox_block b = philox_at(s, (uint64_t)inner << 32 | outer);
    return (philox_stream){(uint64_t)b.word[1] << 32 | b.word[0], b.word[2], b.word[3]};
}

#endif
