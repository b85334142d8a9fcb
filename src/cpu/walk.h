/* Walks through parts of loop nests, shared among threads.
 *
 * A nest's elements are numbered in row-major order; a walk visits a range of numbers block by block.
 * A block consists of rows of the innermost loop: as many complete rows as follow each other in the
 * next loop.  Kernels process a block as a two-dimensional array.
 */
#ifndef CPU_WALK_H
#define CPU_WALK_H

#include "cpu/kernels.h"
#include "machine/nest.h"

typedef struct walk {
    const nest *nest;
    int64_t     left;             /* elements not yet visited, including this block; 0: the end */
    int64_t     rows, count;      /* of this block */
    int64_t     index[MAX_LOOPS]; /* of its first element */
} walk;

walk walk_at(const nest *n, int64_t first, int64_t elements);
void walk_on(walk *w);

/* Where the block begins in an operand, in elements. */
static inline int64_t walk_offset(const walk *w, const access *a)
{
    int64_t offset = 0;
    for (int k = 0; k < w->nest->nloops; k++) offset += w->index[k] * a->stride[w->nest->loop[k]];
    return offset;
}

/* ---- threads ---- */

/* The number of parts into which to split work: at most `limit`. */
static inline int work_parts(const run_state *r, int64_t elements, int64_t limit)
{
    if (elements < PARALLEL_ELEMENTS || r->threads < 2) return 1;
    return (int)(limit < r->threads ? (limit > 1 ? limit : 1) : r->threads);
}

/* PARALLEL(r, parts) before a loop over parts: each iteration may run on its own thread, unless one
 * thread is to do them all.  The team has all threads even if there are fewer parts: OpenMP ends the
 * threads that a smaller team leaves out and starts new ones for the next larger team, which takes
 * longer than most instructions.
 * INDEPENDENT before an inner loop: no iteration reads what another one wrote.  (An iteration may
 * overwrite what it read itself, which `restrict` would forbid.)  INDEPENDENT_LONG before one whose
 * iterations are long: several in a row would only take the compiler's time. */
#define KERNEL_PRAGMA(text) _Pragma(#text)
#ifdef _OPENMP
#define PARALLEL(r, parts)                                                                         \
    KERNEL_PRAGMA(omp parallel for num_threads((r)->threads) schedule(static, 1)                       \
                      if ((parts) > 1 && !(r)->alone))
#else
#define PARALLEL(r, parts)
#endif
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define INDEPENDENT_LONG INDEPENDENT
#pragma clang diagnostic ignored "-Wpass-failed" /* not all loops can be vectorised */
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep") _Pragma("GCC unroll 4")
#define INDEPENDENT_LONG _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#define INDEPENDENT_LONG
#endif

#endif
