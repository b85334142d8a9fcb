/* Products with few columns, by kernels of our own.
 *
 * A matrix is read once and multiplied by a few vectors: what counts is how fast its bytes
 * come.  One kernel computes several such products that do not depend on one another,
 * and applies to each result what the maps that follow do with it.  If the only vector is what
 * a map of one row gives, such as a norm, each block computes it for itself: that takes less
 * time than starting one more kernel.
 */
#ifndef CUDA_WRITE_SLIM_H
#define CUDA_WRITE_SLIM_H

#include "cuda/write/kernel_source.h"

enum { SLIM_MAPS = 4, SLIM_MEMBERS = 4 };

/* A product, and maps that go on with its results, element by element. */
typedef struct slim_member {
    const instr *product;
    bool         fixed; /* no kernel that may still run writes the matrix: it can be read early */
    int          nmaps;
    const instr *map[SLIM_MAPS];
    int          value[SLIM_MAPS]; /* the input that is the result so far */
    const instr *scatter; /* stores the results by an index; NULL: they are stored as they are */
} slim_member;

/* Neighbouring instructions that one kernel carries out. */
typedef struct slim_group {
    int          n; /* 0: the first one is no such product */
    slim_member  members[SLIM_MEMBERS];
    const instr *row; /* the map that gives the vector of all members; NULL: it is in memory */
    int          end; /* the first instruction that does not belong to it */
} slim_group;

bool slim_suits(const instr *i);
int  slim_matrix(const instr *i); /* the input that is the matrix */
/* May the map follow a member: does it compute one element from each result, in any order? */
bool slim_takes(const slim_member *m, const instr *map, int value);
/* The same for a scatter: does it store each result once? */
bool slim_scatters(const slim_member *m, const instr *scatter);

/* Can a map give the vector of products, row by row the only one?  Does this product read it? */
bool slim_is_row(const instr *map);
bool slim_reads_row(const instr *product, const instr *map);

/* Operands of all members: the results that are left, then for each member both factors, the other
 * inputs of its maps, and the index of its scatter; then the inputs of the row. */
instr        slim_operands(arena *a, const slim_group *g);
const instr *slim_last(const slim_member *m); /* the instruction that gives its results */
/* Writes the kernel of a group; `whole` is what slim_operands gave, or the only product itself. */
bool write_slim(kernel_source *s, const instr *whole, const slim_group *g, kernel_plan *plan);

#endif
