/* Vectors of f32 as wide as the level's registers.
 *
 * For inner loops that must name each vector: compilers do not keep arrays of sums in registers.
 */
#ifndef CPU_LANES_H
#define CPU_LANES_H

#if defined(__AVX512F__)
#include <immintrin.h>
#define LANES 16
#define FUSE(x, b, sum) _mm512_fmadd_ps(x, b, sum)
#elif defined(__AVX2__)
#include <immintrin.h>
#define LANES 8
#define FUSE(x, b, sum) _mm256_fmadd_ps(x, b, sum)
#else
#define LANES 4
#define FUSE(x, b, sum) ((x) * (b) + (sum)) /* with two roundings */
#endif

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef float lanes_anywhere
    __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

static inline lanes lanes_load(const float *from)
{
    return *(const lanes_anywhere *)from;
}

static inline void lanes_store(float *to, lanes v)
{
    *(lanes_anywhere *)to = v;
}

static inline lanes lanes_of(float x)
{
    return x - (lanes){0};
}

#endif
