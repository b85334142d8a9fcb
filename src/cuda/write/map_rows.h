/* Maps that fold along rows: which threads have which rows.
 *
 * A row is taken by some threads of a warp, by a warp or by a block of whole warps; several
 * rows share a block in the first two cases.  Blocks that add up columns go through many
 * rows each: as many blocks are launched as a GPU runs at once.  Where they fold as well,
 * a thread has two rows at once, so that it has something to do while it waits: what
 * belongs to one of them is an array, with an element for each, q.
 */
#ifndef CUDA_WRITE_MAP_ROWS_H
#define CUDA_WRITE_MAP_ROWS_H

#include "cuda/write/map_columns.h"
#include "cuda/write/map_passes.h"

typedef struct row_text {
    map_text   m;
    map_passes passes;
    bool       keeps;       /* in registers */
    int        threads;     /* for a row */
    int        together;    /* rows in a block */
    int64_t    pieces;      /* of a row */
    int        pieces_each; /* of a thread, where it keeps or adds up columns */
    bool       early;       /* all of a row is loaded before anything is computed */
    int  at_once; /* rows that a thread has at once; of several, the next are loaded meanwhile */
    int  beside;  /* blocks that share a processor of the GPU; 1: any number */
    bool inner;   /* part of another kernel, whose blocks compute the only row each */
    map_columns columns;
} row_text;

/* Sets the threads of a row and what follows from them; pieces and columns.sums are known. */
void map_rows_choose(row_text *r);
/* The same for an inner one, which all threads of a block have. */
void map_rows_give(row_text *r, int threads);
/* How many blocks there are; where columns are added up, it says how in r->columns. */
int64_t map_rows_blocks(row_text *r);

/* Do some threads have no piece of a row, and the others one each?  They go along without a branch, so
 * that registers and waiting are as if there were none: what they have of folds does not count, and they
 * store nothing. */
bool map_rows_idle(const row_text *r);

/* ---- where rows are, and how they are loaded (map_row_loads.c) ---- */

/* Does a thread have rows that there are not?  Those are not `live`. */
bool map_row_has_dead(const row_text *r);
/* Declares a row's place and loads what is loaded early; where columns are added up, begins the loop over
 * rows. */
void map_row_begin(row_text *r);
void map_row_end(row_text *r); /* of several rows at once, before the next ones */
/* Begins what is done for each of the rows that a thread has at once. */
void map_row_each(row_text *r);
void map_row_each_end(row_text *r);
void map_row_pieces(row_text *r); /* begins the pieces k = 0, 1, ... of a thread */
void map_row_input(const row_text *r, int input, char to[20]); /* its array of a piece */

/* ---- folds (map_folds.c) ---- */

/* Declares what the threads of a row have of the folds of a pass. */
void map_folds_begin(row_text *r, int pass);
/* Arrays that a piece needs for its folds. */
void map_folds_declare(row_text *r, int pass);
void map_folds_add(row_text *r, int pass);   /* an element, and, after all of a piece, */
void map_folds_piece(row_text *r, int pass); /* the whole piece */
/* What all threads have, in all threads. */
void map_folds_end(row_text *r, int pass);

#endif
