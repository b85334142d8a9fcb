/* What the kernels of maps share: registers, values and accesses as text.
 *
 * A register is a variable r0, r1, ... of its compute type; one that holds a constant is
 * the constant itself.  The innermost loop of a nest is gone through in pieces of `vector`
 * elements, a power of two, which a thread loads and stores at once where they lie side
 * by side: element `e` of a piece stands at index l<innermost> + e.
 */
#ifndef CUDA_WRITE_MAP_TEXT_H
#define CUDA_WRITE_MAP_TEXT_H

#include "cuda/write/index_text.h"
#include "cuda/write/kernel_source.h"
#include "program/map_form.h"

enum { MOST_VECTOR = 8, NAME_ROOM = 48 };

typedef struct map_text {
    const instr *i;
    textbuf      t;
    int          indent;
    int          vector;
    int          multiprocessors; /* of the GPU */
    bool         wide;            /* offsets need 64 bits */
    bool         slanted;         /* rows begin anywhere in a piece: see map_slant */
    nest         rows, nest;      /* loops m0, m1, ... of rows, if any, and l0, l1, ... */
    int          registers;       /* inputs and steps */
    mtf_dtype    type[MAX_REGISTERS];
    char         name[MAX_REGISTERS][NAME_ROOM];
} map_text;

/* Types and names; the nests and `vector` are the caller's. */
map_text map_text_of(kernel_source *s, const instr *i);

/* A line, indented. */
void map_line(map_text *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

uint32_t map_indexed_loops(const instr *i); /* whose positions are asked for */

/* The largest vector that suits the operands' types and divides the innermost loop, or, where that is
 * the only one and `rest` is allowed, leaves a rest. */
int map_vector(const map_text *m, bool rest);

/* Rows whose beginnings are not aligned, but alike for all operands with an element each, can be cut
 * into pieces that are: the first and the last piece of a row then reach beyond it, and what lies there
 * is read but not used.  True where that is better; sets the vector. */
bool map_slant(map_text *m);
/* declares how many elements of the first piece lie before the row */
void map_add_shift(map_text *m);

/* Declares the loops of a nest from the number of a piece: "l" or "m", the innermost times `vector`. */
void map_add_index(map_text *m, const nest *n, const char *prefix, const char *number, int vector);
/* Where an operand's element lies, along the loops of a nest. */
void map_add_offset(map_text *m, const nest *n, const char *prefix, const access *a);

/* An array for a piece of an input, or for `times` of them: a0[8], a0[3][8].  Short floats that are
 * loaded several at once stay words until they are used. */
void map_declare(map_text *m, const access *a, const char *name, int times);
/* Reads a piece to such an array; `at` is the pointer's name, `array` the array's. */
void map_load(map_text *m, const access *a, const char *at, const char *array);
/* An element of it, as it is computed with. */
void map_add_element(map_text *m, const access *a, const char *array);
/* Writes a piece of an output from an array of the compute type. */
void        map_store(map_text *m, const access *a, const char *at, const char *array);
const char *map_computed(const access *a); /* that type */

/* r5 = ...: a step's value, without folds.  Constants have none. */
void map_add_value(map_text *m, int step);
bool map_is_constant(const map_text *m, int reg);

/* Does it fold along rows, or store one number a row? */
bool map_goes_by_rows(const instr *i);

#endif
