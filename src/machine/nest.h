/* Simplified loop nests.
 *
 * A nest holds some of an instruction's loops: those of size 1 dropped, sorted,
 * neighbours merged where every operand allows it.
 */
#ifndef MACHINE_NEST_H
#define MACHINE_NEST_H

#include "program/program.h"

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

#endif
