/* Inner loops of folds, for every kind and compute type. */
#ifndef CPU_FOLD_STEPS_H
#define CPU_FOLD_STEPS_H

#include "base/dtype.h"
#include "program/instr.h"

enum { PIECE = 1024 }; /* the most elements of a line that are folded at once */

typedef struct fold_steps {
    /* result = x[0] * ... * x[n-1], 0 < n <= PIECE */
    void (*line)(int64_t n, const void *x, void *result);
    /* sums[i] = sums[i] * x[i] */
    void (*merge)(int64_t n, void *sums, const void *x);
    double nothing; /* the result of an empty fold */
} fold_steps;

/* SUM, PROD, MAX, MIN in a compute type. */
const fold_steps *fold_steps_of(fold_kind kind, mtf_dtype type);

/* ARGMAX, ARGMIN: if one of x[0 .. n-1] beats *best, sets best and its position.  `first` is the
 * position of x[0]; if it is > 0, best and where hold an earlier result. */
typedef struct fold_search {
    void (*line)(int64_t n, const void *x, int64_t first, void *best, int32_t *where);
    void (*merge)(int64_t n, const void *x, int64_t at, void *bests, int32_t *where);
} fold_search;

const fold_search *fold_search_of(fold_kind kind, mtf_dtype type);

/* The tables of one level: levels.c picks one for the functions above. */
typedef struct fold_tables {
    fold_steps  steps[FOLD_PROD + 1][DTYPES];
    fold_search search[2][DTYPES]; /* maximum, minimum */
} fold_tables;

#endif
