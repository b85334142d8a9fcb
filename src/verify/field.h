/* Arithmetic modulo primes just below 2^61, and keyed hashes.
 *
 * A residue represents a floating number: sums and products of residues are
 * exact in any order.  Functions that are not polynomials are keyed hashes.
 */
#ifndef VERIFY_FIELD_H
#define VERIFY_FIELD_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 wide_product;

enum { FIELD_BITS = 61, FIELD_PRIMES = 8 };

/* The prime is 2^61 - below. */
typedef struct field {
    uint64_t prime, below;
} field;

field    field_nth(int n); /* 0 .. FIELD_PRIMES-1 */
uint64_t field_power(const field *f, uint64_t x, uint64_t exponent);
uint64_t field_inverse(const field *f, uint64_t x); /* of 0: 0 */
/* The same for n of them at once, in place; `room` holds as many. */
void     field_inverses(const field *f, int64_t n, uint64_t *x, uint64_t *room);
uint64_t field_of_int(const field *f, int64_t x);
/* k / 2^m becomes k times the inverse of 2^m.  Numbers of magnitude 2^60 and more, infinities
 * among them, become the least and the largest residue; NaN becomes a residue of its own. */
uint64_t field_of_double(const field *f, double x);

/* The residue as a number between -prime/2 and prime/2. */
static inline int64_t field_signed(const field *f, uint64_t x)
{
    return x > f->prime / 2 ? (int64_t)x - (int64_t)f->prime : (int64_t)x;
}

static inline uint64_t field_reduce(const field *f, wide_product x)
{
    const uint64_t low_bits = ((uint64_t)1 << FIELD_BITS) - 1;
    wide_product   once = (x >> FIELD_BITS) * f->below + ((uint64_t)x & low_bits);
    uint64_t       twice = (uint64_t)(once >> FIELD_BITS) * f->below + ((uint64_t)once & low_bits);
    return twice >= f->prime ? twice - f->prime : twice;
}

static inline uint64_t field_add(const field *f, uint64_t x, uint64_t y)
{
    uint64_t sum = x + y;
    return sum >= f->prime ? sum - f->prime : sum;
}

static inline uint64_t field_sub(const field *f, uint64_t x, uint64_t y)
{
    return x >= y ? x - y : x + f->prime - y;
}

static inline uint64_t field_mul(const field *f, uint64_t x, uint64_t y)
{
    return field_reduce(f, (wide_product)x * y);
}

/* A hash of both. */
static inline uint64_t hash_pair(uint64_t key, uint64_t x)
{
    uint64_t h = key ^ (x + 0x9e3779b97f4a7c15u + (key << 6) + (key >> 2));
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

#endif
