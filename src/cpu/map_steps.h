/* The steps of a map, over one tile of registers. */
#ifndef CPU_MAP_STEPS_H
#define CPU_MAP_STEPS_H

#include "base/dtype.h"
#include "program/instr.h"

/* out[i] = f(x[i], y[i]) for i in 0 .. n-1; out may be x or y. */
typedef void map_step(int64_t n, void *out, const void *x, const void *y);
/* out[i] = f(x[i], y[i], z[i]) */
typedef void map_step3(int64_t n, void *out, const void *x, const void *y, const void *z);
/* out[r, i] = first + r * by_row + i * by_step */
typedef struct map_ramp {
    scalar  shift; /* added last */
    int64_t first, by_row, by_step, rows, count;
} map_ramp;
typedef void map_index(const map_ramp *ramp, void *out);

/* NULL if the function is not legal in the type.  Short floats stand for their compute type; a cast
 * to one of them yields an f32 that is representable in that type. */
map_step *map_step_of(scalar_fn fn, mtf_dtype type);
/* The step with two operands whose operand `which` is one value for all elements. */
map_step  *map_step_with_one(scalar_fn fn, mtf_dtype type, int which);
map_step  *map_cast_of(mtf_dtype to, mtf_dtype from);
map_step3 *map_select_of(mtf_dtype type); /* x is the condition */
map_index *map_index_of(mtf_dtype type);

/* The tables of one level: levels.c picks one for the functions above. */
typedef struct map_tables {
    map_step  *step[SCALAR_FNS][DTYPES];
    map_step  *with_one[SCALAR_FNS][2][DTYPES];
    map_step  *cast[DTYPES][DTYPES]; /* the target type is any type */
    map_step3 *select[DTYPES];
    map_index *index[DTYPES];
} map_tables;

#endif
