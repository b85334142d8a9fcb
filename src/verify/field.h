/* Arithmetic modulo the prime 2^127 - 1, and keyed hashes.
 *
 * A residue represents a floating number: sums and products of residues are
 * exact in any order.  Functions that are not polynomials are keyed hashes.
 */
#ifndef VERIFY_FIELD_H
#define VERIFY_FIELD_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 residue;
__extension__ typedef __int128          signed_residue;

enum { FIELD_BITS = 127 };
#define FIELD_PRIME ((((residue)1) << FIELD_BITS) - 1)

residue field_inverse(residue x); /* of 0: 0; of small numbers soonest */
residue field_of_int(int64_t x);
/* k / 2^m becomes k times the inverse of 2^m.  Numbers of magnitude 2^60 and more, infinities
 * among them, become the least and the largest residue; NaN becomes a residue of its own. */
residue field_of_double(double x);

/* x modulo the prime, or x plus the prime: below 2^127 + 1. */
static inline residue field_fold(residue x)
{
    return (x & FIELD_PRIME) + (x >> FIELD_BITS);
}

/* Of a number of up to 128 bits. */
static inline residue field_reduce(residue x)
{
    residue once = field_fold(x);
    return once >= FIELD_PRIME ? once - FIELD_PRIME : once;
}

/* The residue as a number between -prime/2 and prime/2. */
static inline signed_residue field_signed(residue x)
{
    return x > FIELD_PRIME / 2 ? -(signed_residue)(FIELD_PRIME - x) : (signed_residue)x;
}

static inline residue field_add(residue x, residue y)
{
    residue sum = x + y;
    return sum >= FIELD_PRIME ? sum - FIELD_PRIME : sum;
}

static inline residue field_sub(residue x, residue y)
{
    return x >= y ? x - y : x + FIELD_PRIME - y;
}

/* In halves of 64 bits; 2^128 is 2 modulo the prime. */
static inline residue field_mul(residue x, residue y)
{
    uint64_t x0 = (uint64_t)x, x1 = (uint64_t)(x >> 64), y0 = (uint64_t)y, y1 = (uint64_t)(y >> 64);
    residue  low = (residue)x0 * y0, cross = (residue)x0 * y1 + (residue)x1 * y0;
    residue  high = 2 * ((residue)x1 * y1 + (cross >> 64));
    residue  rest = field_fold(low) + field_fold(cross << 64);
    return field_reduce(field_fold(rest) + high);
}

/* sum over k of x[k * x_step] * y[k * y_step] */
residue field_dot(int64_t n, const residue *x, int64_t x_step, const residue *y, int64_t y_step);

/* ---- hashes ---- */

/* A hash of both. */
static inline uint64_t hash_pair(uint64_t key, uint64_t x)
{
    uint64_t h = key ^ (x + 0x9e3779b97f4a7c15u + (key << 6) + (key >> 2));
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

/* A residue from a key and a number: two chains, so that equal results need two coincidences. */
static inline residue hash_residue(uint64_t key, residue x)
{
    uint64_t low = hash_pair(hash_pair(key, (uint64_t)x), (uint64_t)(x >> 64));
    uint64_t high = hash_pair(hash_pair(~key, (uint64_t)(x >> 64)), (uint64_t)x);
    return field_reduce((residue)high << 64 | low);
}

#endif
