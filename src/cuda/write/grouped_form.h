/* Products whose rows are in groups: what both of their kernels are told. */
#ifndef CUDA_WRITE_GROUPED_FORM_H
#define CUDA_WRITE_GROUPED_FORM_H

#include "cuda/write/kernel_text.h"

/* How the rows, columns and terms of a tile of the result lie in an instruction. */
typedef struct grouped_form {
    int     left, right;        /* inputs, 0 and 1: the first has an element for each row */
    int     down, along, terms; /* loops, counted from the rows' */
    int64_t high, wide;         /* of the result of one group */
    nest    batch, summed; /* loops over results, and over sums in one or over rows of one group */
} grouped_form;

/* `turned`: of a sum over rows, where the loops of rows and columns are free to choose.  `joined`: of a
 * product, loops over which the groups' factor is the same are those of `summed`. */
grouped_form grouped_form_of(const instr *i, bool turned, bool joined);

/* Sizes and strides: ROWS, TERMS, LEFT, LEFTTERM, LEFTFAST, ..., with a tile of so many rows and
 * columns: STRIPS, TILES.  The number of blocks. */
int64_t grouped_set_words(kernel_text *k, const instr *i, const grouped_form *f, int tile_high,
                          int tile_wide);

/* Do tensor cores multiply it?  Whether they do never depends on the number of rows, so a row's result
 * does not either. */
bool          grouped_suits_matrices(const instr *i);
kernel_writer write_grouped_matrix;

/* Are elements adjacent along `fast`, and do lines along it begin at multiples of a pack of 16 bytes? */
bool lies_in_packs(const instr *i, const access *a, int fast, int64_t group_stride);

/* Does each group have rows for large tiles?  These need scratch memory, and much shared memory. */
bool          grouped_suits_tiles(const instr *i);
bool          grouped_fits_tiles(const kernel_source *s);
kernel_writer write_grouped_tiles;

#endif
