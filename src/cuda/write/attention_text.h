/* What the kernels of attention share: an instruction as a struct of CUDA C.
 *
 * The struct, `problem`, has the types, sizes and strides that attention.cuh asks for; the
 * variable `p` has the pointers of the inputs.  Loops are split into batches, which share
 * a memory, and rows of a batch; the query is the last loop of the rows.
 */
#ifndef CUDA_WRITE_ATTENTION_TEXT_H
#define CUDA_WRITE_ATTENTION_TEXT_H

#include "cuda/write/kernel_source.h"

typedef struct attention_loops {
    int     nbatch, nrows;
    int     batch[MAX_LOOPS], row[MAX_LOOPS]; /* loops of the instruction */
    int64_t batches, rows;
    int64_t together; /* this many consecutive batches add to one result */
} attention_loops;

/* Batches are the loops of the memory.  Those along which output `sum` has stride 0 come last: they are
 * `together`; -1: there are none. */
attention_loops attention_loops_of(const instr *i, int sum);
/* The same, but batches are all loops other than the query's. */
attention_loops attention_loops_by_query(const instr *i, int sum);
/* Does a bias depend on the distance of a query and a position alone? */
bool attention_is_by_distance(const instr *i);

/* Threads have `rows` x `positions` scores of a tile each. */
typedef struct attention_form {
    attention_loops loops;
    int             rows, positions;
    int64_t         chunks, chunk; /* the memory in so many parts of that length; 0: in one */
    int64_t each, strip; /* a bias's gradient: batches and tiles of rows of a block; 0: one */
    int     stages;      /* tiles in shared memory at once; 0: one */
} attention_form;

/* The arguments of kernels that attention_text is part of: a plan's first. */
void attention_numbers(const instr *i, kernel_plan *plan);
/* Declares `problem` and `p`. */
void attention_text(textbuf *t, const instr *i, const attention_form *f);

/* Can the kernels of attention_matrix.cuh carry it out? */
bool attention_suits_matrices(const instr *i);
/* With one tile of rows; `sum` is as for attention_loops_of. */
attention_form attention_matrix_form(const instr *i, int sum);
/* Bytes of shared memory for so many lines as wide as a key, and as wide as a value. */
int attention_matrix_bytes(const instr *i, int keys, int values);
enum { MATRIX_THREADS = 128, MATRIX_WARPS = 4, MATRIX_TILE = 64 }; /* as attention_matrix.cuh */
/* Can the kernel of attention_slim.cuh? */
bool attention_suits_slim(const instr *i);
enum { SLIM_THREADS = 256 }; /* as attention_slim.cuh */

bool attention_is_f64(const instr *i);
/* Scores of a thread along a side of a tile, of so many rows, or of any number. */
int     attention_each(const instr *i, int64_t rows);
int     attention_most_each(const instr *i);
int64_t attention_pieces(int64_t n, int64_t each);
enum { ATTENTION_THREADS = 256, ATTENTION_SIDE = 16, ATTENTION_WIDE = 128 }; /* as attention.cuh */

#endif
