/* Simplified loop nests, and walks through parts of them.
 *
 * A nest holds some of an instruction's loops: those of size 1 dropped, sorted,
 * neighbours merged where every operand allows it.  Its elements are numbered
 * in row-major order; a walk visits a range of numbers block by block.  A block
 * consists of rows of the innermost loop: as many complete rows as follow each
 * other in the next loop.  Kernels process a block as a two-dimensional array.
 */
#ifndef MACHINE_NEST_H
#define MACHINE_NEST_H

#include "machine/kernels/kernels.h"

typedef struct nest {
    int     nloops;
    int64_t elements;
    int64_t size[MAX_LOOPS];
    int     loop[MAX_LOOPS]; /* the instruction's loop whose strides this one uses */
} nest;

/* The loops in the set `loops` (bit k: loop k), by decreasing stride of `order` (NULL: in the given
 * order).  Those in `alone` are not merged with others. */
nest nest_of(const instr *i, uint32_t loops, const access *order, uint32_t alone);

/* A set of loops whose iterations write different elements of the first output: each stride exceeds the
 * reach of all smaller ones. */
uint32_t nest_apart(const instr *i);

/* Do n loops with these strides always reach different elements?  Yes if each stride exceeds the reach
 * of all smaller ones together. */
bool nest_distinct(int n, const int64_t *size, const int64_t *stride);

/* The set of an instruction's loops first .. last-1. */
static inline uint32_t loops_between(int first, int last)
{
    return (uint32_t)(((uint64_t)1 << last) - ((uint64_t)1 << first));
}

/* An operand's stride along a nest's loop, counted from the innermost, 0. */
static inline int64_t nest_stride(const nest *n, const access *a, int from_inside)
{
    return from_inside < n->nloops ? a->stride[n->loop[n->nloops - 1 - from_inside]] : 0;
}

static inline int64_t nest_inner(const nest *n)
{
    return n->nloops > 0 ? n->size[n->nloops - 1] : 1;
}

/* Is the operand the same element in all iterations? */
static inline bool nest_repeats(const nest *n, const access *a)
{
    for (int k = 0; k < n->nloops; k++)
        if (a->stride[n->loop[k]] != 0) return false;
    return true;
}

/* ---- walks ---- */

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

/* PARALLEL(r, parts) before a loop over parts: each iteration may run on its own thread.  The team
 * has all threads even if there are fewer parts: OpenMP ends the threads that a smaller team leaves
 * out and starts new ones for the next larger team, which takes longer than most instructions.
 * INDEPENDENT before an inner loop: no iteration reads what another one wrote.  (An iteration may
 * overwrite what it read itself, which `restrict` would forbid.) */
#define KERNEL_PRAGMA(text) _Pragma(#text)
#ifdef _OPENMP
#define PARALLEL(r, parts)                                                                         \
    KERNEL_PRAGMA(omp parallel for num_threads((r)->threads) schedule(static, 1) if (parts > 1))
#else
#define PARALLEL(r, parts)
#endif
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed" /* not all loops can be vectorised */
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep") _Pragma("GCC unroll 4")
#else
#define INDEPENDENT
#endif

#endif
