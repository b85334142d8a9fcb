/* Numbers with a bound on the error of another evaluation.
 *
 * The oracle computes in double or in exact integers.  The library rounds to the
 * element type, and sums in an order that depends on the layout.  So each number
 * carries its slack: how far a correct evaluation may be from it.  0 means that
 * it must be equal: sums of multiples of 1/8, say, are exact in any order as long
 * as they have few digits.  What depends on a decision within the slack (a
 * comparison of nearly equal floats, say) has no definite value: any is accepted.
 */
#ifndef ORACLE_NUMBER_H
#define ORACLE_NUMBER_H

#include <math.h>

#include "mtf.h"

enum {
    NO_GRAIN = -100000, /* digits without end */
    ALL_GRAIN = 100000  /* zero: a multiple of everything */
};

typedef struct number {
    double  v;     /* floats */
    int64_t i;     /* integers and bools */
    double  slack; /* 0: exact; INFINITY: anything */
    /* Of the terms that linear operations made it of, since a layout may keep these apart: the sum
     * of their magnitudes, and the exponent of a power of two that divides them all. */
    double mass;
    int    grain;
} number;

bool      is_real(mtf_dtype type);
mtf_dtype number_summed_in(mtf_dtype type); /* f32 for the short floats, else itself */

/* ---- making ---- */

number number_real(double v);                 /* exact */
number number_int(int64_t i, mtf_dtype type); /* wrapped to the type */
number number_bool(bool b);
number number_unknown(void);
number number_zero(mtf_dtype type);
/* A real that is written with all its digits and stored in the type. */
number number_written(double v, mtf_dtype type);
bool   number_known(number a);

/* Element i of row-major data. */
number number_load(mtf_dtype type, const void *data, int64_t i);
void   number_store(mtf_dtype type, void *data, int64_t i, double v, int64_t n);

/* ---- arithmetic; without rounding until number_rounded ---- */

number number_add(number a, number b, mtf_dtype type);
number number_sub(number a, number b, mtf_dtype type);
number number_mul(number a, number b, mtf_dtype type);
number number_neg(number a, mtf_dtype type);
/* What is stored after a sum of so many terms; integers are as they were. */
number number_rounded(number a, mtf_dtype type, int64_t terms);
/* a, or what it was before it was rounded to the type. */
number number_perhaps_wide(number a, mtf_dtype type);
/* A value that nothing linear made: v, off by `slack` at most, and by rounding unless `exact`. */
number number_made(double v, double slack, bool exact, mtf_dtype type);

/* -1, 0, 1, or 2 where it is not definite; NaN is the largest. */
int number_compare(number a, number b, mtf_dtype type);

/* May `found`, an element of the type, stand for a? */
bool number_allows(number a, mtf_dtype type, number found);

#endif
