/* Matrices as BLAS sees them, and its product.
 *
 * BLAS accepts a matrix as rows of adjacent elements, or as the transpose of
 * one, with rows at least their own length apart.  Not every pair of strides is
 * such a matrix: matrix_of checks it.
 */
#ifndef CPU_MATRIX_H
#define CPU_MATRIX_H

#include <cblas.h>
#include <limits.h>

#include "mtf.h"

/* c[m, n] = or += sum over k of a[m, k] * b[k, n], with the strides of the operands. */
typedef struct product {
    mtf_dtype                type; /* of the operands */
    int64_t                  m, n, k;
    int64_t                  a_m, a_k, b_k, b_n, c_m, c_n;
    mtf_dtype                result; /* of bf16 operands: bf16 or f32; for kernel_contract */
    const struct short_tile *tile;   /* with bf16 operands; NULL: the chip has none */
    bool                     add;    /* to the values of c, which are f32 or f64 then */
} product;

typedef struct matrix {
    bool transposed; /* stored as its transpose */
    int  ld;         /* from one stored row to the next, in elements */
} matrix;

static inline bool matrix_rows(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride,
                               int *ld)
{
    int64_t apart = rows == 1 ? cols : row_stride;
    if ((cols != 1 && col_stride != 1) || apart < cols || apart > INT_MAX || rows > INT_MAX)
        return false;
    *ld = (int)apart;
    return true;
}

/* A loop of size 1 may have any stride. */
static inline bool matrix_of(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride,
                             matrix *m)
{
    m->transposed = false;
    if (matrix_rows(rows, cols, row_stride, col_stride, &m->ld)) return true;
    m->transposed = true;
    return matrix_rows(cols, rows, col_stride, row_stride, &m->ld);
}

/* c[m, n] = or += sum over k of a[m, k] * b[k, n]; c is never transposed. */
typedef struct gemm {
    mtf_dtype type; /* F32 or F64 */
    int       m, n, k;
    matrix    a, b, c;
    bool      add; /* to the values of c; otherwise they are not read */
} gemm;

static inline void gemm_run(const gemm *g, const void *a, const void *b, void *c)
{
    if (g->type == MTF_F32)
        cblas_sgemm(CblasRowMajor, g->a.transposed ? CblasTrans : CblasNoTrans,
                    g->b.transposed ? CblasTrans : CblasNoTrans, g->m, g->n, g->k, 1.0f, a, g->a.ld,
                    b, g->b.ld, g->add ? 1.0f : 0.0f, c, g->c.ld);
    else
        cblas_dgemm(CblasRowMajor, g->a.transposed ? CblasTrans : CblasNoTrans,
                    g->b.transposed ? CblasTrans : CblasNoTrans, g->m, g->n, g->k, 1.0, a, g->a.ld,
                    b, g->b.ld, g->add ? 1.0 : 0.0, c, g->c.ld);
}

/* A product in f32 whose k is at most MOST_TERMS.  False if c has no rows of adjacent elements;
 * then nothing was written. */
bool product_terms(const product *p, const float *a, const float *b, float *c);

/* A product in f32 whose n is at most SLIM_WIDE.  False if a has no rows of adjacent elements; then
 * nothing was written. */
bool product_slim(const product *p, const float *a, const float *b, float *c);

/* A product in f32 with the project's own tiles, on arm64; fastest if the elements of a column of c
 * are adjacent.  The scratch suffices for pieces of the product and for its transpose. */
void    product_tiled(const product *p, const float *a, const float *b, float *c, void *scratch);
size_t  product_tiled_bytes(const product *p);
int64_t product_tiled_work(const product *p); /* to choose between a product and its transpose */
/* One operand packed once, for many products that are added to c: for k up to PACKED_DEEP.  Bytes
 * of the packed operand, and of the scratch for each product. */
enum { PACKED_DEEP = 512 };
size_t product_packed_bytes(int64_t m, int64_t k);
size_t product_packed_scratch(int64_t k);
void   product_pack(const product *p, const float *a, void *packed);
/* The other operand as tiles read it, [columns / 12][k][12], padded with 0. */
void product_pack_columns(const product *p, const float *b, void *packed);
void product_add_packed(const product *p, const void *packed, const float *b, float *c,
                        void *scratch);

/* A product in bf16 with the chip's bf16 instructions, `tile`; fastest if the elements of a row of c are
 * adjacent.  The scratch suffices for pieces of the product and for its transpose. */
void product_short(const product *p, const uint16_t *a, const uint16_t *b, void *c, void *scratch);
size_t product_short_bytes(const product *p);
/* The same on any chip, in f32. */
void   product_widened(const product *p, const uint16_t *a, const uint16_t *b, void *c,
                       void *scratch);
size_t product_widened_bytes(const product *p);
/* The same for n = 1.  False if a has no adjacent elements. */
bool product_short_vector(const product *p, const uint16_t *a, const uint16_t *b, void *c);

#endif
