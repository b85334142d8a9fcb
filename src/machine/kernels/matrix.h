/* Matrices as BLAS sees them, and its product.
 *
 * BLAS takes a matrix as rows of adjacent elements, or as the transpose of
 * one, with rows at least their own length apart.  Not every pair of strides
 * is such a matrix: matrix_of says which.
 */
#ifndef MACHINE_KERNELS_MATRIX_H
#define MACHINE_KERNELS_MATRIX_H

#include <cblas.h>
#include <limits.h>

#include "mtf.h"

/* c[m, n] = sum over k of a[m, k] * b[k, n], with the strides of the operands. */
typedef struct product {
    mtf_dtype                type; /* of the operands */
    int64_t                  m, n, k;
    int64_t                  a_m, a_k, b_k, b_n, c_m, c_n;
    mtf_dtype                result; /* of bf16: that or f32; for kernel_contract, as is the tile */
    const struct short_tile *tile;   /* of bf16; NULL: the chip has none */
} product;

typedef struct matrix {
    bool turned; /* stored as its transpose */
    int  ld;     /* from one stored row to the next, in elements */
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
    m->turned = false;
    if (matrix_rows(rows, cols, row_stride, col_stride, &m->ld)) return true;
    m->turned = true;
    return matrix_rows(cols, rows, col_stride, row_stride, &m->ld);
}

/* c[m, n] = or += sum over k of a[m, k] * b[k, n]; c is never turned. */
typedef struct gemm {
    mtf_dtype type; /* F32 or F64 */
    int       m, n, k;
    matrix    a, b, c;
    bool      add; /* to what c holds; otherwise what it held is not read */
} gemm;

static inline void gemm_run(const gemm *g, const void *a, const void *b, void *c)
{
    if (g->type == MTF_F32)
        cblas_sgemm(CblasRowMajor, g->a.turned ? CblasTrans : CblasNoTrans,
                    g->b.turned ? CblasTrans : CblasNoTrans, g->m, g->n, g->k, 1.0f, a, g->a.ld, b,
                    g->b.ld, g->add ? 1.0f : 0.0f, c, g->c.ld);
    else
        cblas_dgemm(CblasRowMajor, g->a.turned ? CblasTrans : CblasNoTrans,
                    g->b.turned ? CblasTrans : CblasNoTrans, g->m, g->n, g->k, 1.0, a, g->a.ld, b,
                    g->b.ld, g->add ? 1.0 : 0.0, c, g->c.ld);
}

/* A product in f32 whose k is at most MOST_TERMS, by a loop of our own.  False where c has no rows of
 * adjacent elements; then nothing was written. */
bool product_terms(const product *p, const float *a, const float *b, float *c);

/* A product in f32 whose n is at most SLIM_WIDE, by a loop of our own.  False where a has no rows of
 * adjacent elements; then nothing was written. */
bool product_slim(const product *p, const float *a, const float *b, float *c);

/* A product in f32 by tiles of our own, on arm64; fastest where elements of c down a column are
 * adjacent.  The scratch is enough for pieces of the product, too, and seen from either side. */
void    product_tiled(const product *p, const float *a, const float *b, float *c, void *scratch);
size_t  product_tiled_bytes(const product *p);
int64_t product_tiled_work(const product *p); /* to compare the sides by */
/* One operand packed once, for many products that are added to what c holds: where k is at most
 * PACKED_DEEP.  Bytes of the operand, and of the scratch that each product needs. */
enum { PACKED_DEEP = 512 };
size_t product_packed_bytes(int64_t m, int64_t k);
size_t product_packed_scratch(int64_t k);
void   product_pack(const product *p, const float *a, void *packed);
/* The other operand as tiles take it, [columns in twelves][k][12], missing ones 0. */
size_t product_columns_bytes(int64_t n, int64_t k);
void   product_pack_columns(const product *p, const float *b, void *packed);
void   product_add_packed(const product *p, const void *packed, const float *b, float *c,
                          void *scratch);

/* A product in bf16 by the chip's own instructions; fastest where elements of c along a row are
 * adjacent.  False where the chip has none; then nothing was written.  The scratch is enough for pieces,
 * too, and from either side. */
bool product_short(const product *p, const uint16_t *a, const uint16_t *b, void *c, void *scratch);
size_t product_short_bytes(const product *p);
/* The same where n is 1.  False where a has no adjacent elements. */
bool product_short_vector(const product *p, const uint16_t *a, const uint16_t *b, void *c);

#endif
