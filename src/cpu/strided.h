/* Copies of two-dimensional strided blocks, widening and narrowing. */
#ifndef CPU_STRIDED_H
#define CPU_STRIDED_H

#include "base/dtype.h"
#include "cpu/walk.h"

/* One side of a copy: element (r, c) lies at at[r * row + c * step], in elements. */
typedef struct strided {
    void   *at;
    int64_t row, step;
} strided;

typedef void strided_copy(strided to, strided from, int64_t rows, int64_t count);

/* Room for one register element of any compute type; a tile of n elements fits into an array of
 * n. */
typedef union number {
    float   f32;
    double  f64;
    int32_t i32;
    int64_t i64;
    uint8_t flag;
} number;

/* Copies between memory of a type and registers of its compute type; and without conversion. */
strided_copy *strided_loader(mtf_dtype type);
strided_copy *strided_storer(mtf_dtype type);
strided_copy *strided_mover(mtf_dtype type);

/* The tables of one level: levels.c picks one for the functions above. */
typedef struct strided_tables {
    strided_copy *loader[DTYPES], *storer[DTYPES], *mover[DTYPES];
} strided_tables;

/* tile[0 ..] = the elements of a walk in an operand at `base`, in its compute type; and back. */
void tile_load(walk w, const access *a, char *base, void *tile);
void tile_store(walk w, const access *a, char *base, void *tile);

/* The elements of a walk in place, if they are contiguous and need no widening; else loaded into
 * `tile`. */
void *tile_read(const walk *w, const access *a, char *base, void *tile);

/* The address of a walk's elements if they are contiguous in compute type, else NULL. */
void *tile_in_place(const walk *w, const access *a, char *base);

/* The same for contiguous lines that begin `apart` elements from one another: the address of the
 * first. */
void *tile_lines(const walk *w, const access *a, char *base, int64_t *apart);

#endif
