/* Elementwise functions on single numbers: the reference, and constant folding. */
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

/* fn applied to numbers of a compute type, computed in that type. */
double scalar_eval(scalar_fn fn, mtf_dtype type, double x, double y);

#endif
