/* The order of examples: a permutation that needs no table.
 *
 * A Feistel network permutes the numbers of an even number of bits: each round
 * adds a hash of one half to the other, which can be undone.  The network is
 * applied to a number again until the result is below n; since it is a
 * permutation, so is the result.  Round keys come from Philox, by seed and epoch.
 */
#include "data/shuffle.h"

#include "base/philox.h"

/* "shuf" and "sect": no op's streams. */
enum { LEAST_HALF = 3, SHUFFLE_STREAM = 0x73687566, SECTION_STREAM = 0x73656374 };

static shuffle make(uint64_t seed, int64_t epoch, uint32_t stream, uint32_t window, int64_t n)
{
    shuffle o = {.n = (uint64_t)n, .half_bits = LEAST_HALF};
    while (o.half_bits < 32 && (o.n - 1) >> (2 * o.half_bits) != 0) o.half_bits++;
    for (uint32_t i = 0; i < SHUFFLE_ROUNDS; i++) {
        philox_block b = philox((philox_block){{2 * window + i / 4, stream, (uint32_t)epoch,
                                                (uint32_t)((uint64_t)epoch >> 32)}},
                                (uint32_t)seed, (uint32_t)(seed >> 32));
        o.key[i] = b.word[i % 4];
    }
    return o;
}

shuffle shuffle_of_epoch(uint64_t seed, int64_t epoch, int64_t n)
{
    return make(seed, epoch, SHUFFLE_STREAM, 0, n);
}

shuffle shuffle_of_sections(uint64_t seed, int64_t epoch, int64_t n)
{
    return make(seed, epoch, SECTION_STREAM, 0, n);
}

shuffle shuffle_of_window(uint64_t seed, int64_t epoch, int64_t window, int64_t n)
{
    return make(seed, epoch, SHUFFLE_STREAM, (uint32_t)window, n);
}

/* Every bit of the result depends on every bit of x. */
static uint32_t scramble(uint32_t x, uint32_t key)
{
    x = (x ^ key) * 0x9e3779b1u;
    x = (x ^ x >> 15) * 0x85ebca77u;
    return x ^ x >> 13;
}

static uint64_t permute(const shuffle *o, uint64_t x)
{
    uint32_t mask = (uint32_t)((1ull << o->half_bits) - 1);
    uint32_t low = (uint32_t)x & mask, high = (uint32_t)(x >> o->half_bits);
    for (int i = 0; i < SHUFFLE_ROUNDS; i++) {
        uint32_t mixed = high ^ (scramble(low, o->key[i]) >> (32 - o->half_bits));
        high = low;
        low = mixed;
    }
    return (uint64_t)high << o->half_bits | low;
}

int64_t shuffle_at(const shuffle *o, int64_t place)
{
    uint64_t x = permute(o, (uint64_t)place);
    while (x >= o->n) x = permute(o, x);
    return (int64_t)x;
}
