/* Elementwise functions on single numbers, for reference and constant folding. */
#ifndef PROGRAM_SCALAR_H
#define PROGRAM_SCALAR_H

#include "program/instr.h"

typedef struct scalar_info {
    const char *name;
    int         arity;
    int         flops;
    bool        gives_bool;
} scalar_info;

extern const scalar_info scalar_infos[SCALAR_FNS];

/* What kernels compute for single numbers, bit for bit.  Applies fn to numbers of a type, in its
 * compute type; the result has that type, or bool. */
scalar scalar_eval(scalar_fn fn, mtf_dtype type, scalar x, scalar y);
scalar scalar_cast(mtf_dtype to, mtf_dtype from, scalar x);
/* The sum of `count` products of the n numbers x.  Integers wrap around; for bools, addition is or
 * and multiplication is and.  False if it depends on the order of floats: some partial result may
 * be rounded. */
bool scalar_sum_of_products(mtf_dtype type, int n, const scalar *x, int64_t count, scalar *sum);

#endif
