/* One call of cuBLASLt. */
#ifndef CUDA_LIBRARY_PRODUCT_CALL_H
#define CUDA_LIBRARY_PRODUCT_CALL_H

#include "cuda/driver/cuda_device.h"

/* Working space that the library may use for a product. */
enum { PRODUCT_WORKSPACE = 32 << 20 };

enum { LEFT, RIGHT, RESULT, MATRICES };

/* All that an algorithm depends on besides the GPU and the library.  It is compared and hashed as
 * bytes: there is no padding. */
typedef struct product_key {
    int32_t type[MATRICES], transposed[MATRICES]; /* the result never is */
    int32_t alignment[MATRICES];                  /* bytes, a power of two */
    int32_t compute, batches;
    int32_t epilogue; /* cublasLtEpilogue_t, and ADDS_A_MATRIX; 0: none */
    int64_t rows[MATRICES], columns[MATRICES];
    int64_t leading[MATRICES]; /* elements from one column to the next */
    int64_t step[MATRICES];    /* elements from one matrix of the batch to the next */
} product_key;

enum { ADDS_A_MATRIX = 1 << 16 };

typedef struct product_call {
    product_key key;
    void       *vector, *matrix; /* of the epilogue: a bias or sums; activations stored or read */
    cublasLtMatmulDesc_t   how;
    cublasLtMatrixLayout_t layout[MATRICES];
    cublasLtMatmulAlgo_t   algorithm;
    int64_t                spared; /* bytes that separate kernels would move for the epilogue */
    bool refused; /* cuBLASLt has no such epilogue, or separate kernels are faster */
} product_call;

/* Where the matrices are, and working space.  `added`: the result, if nothing is added. */
typedef struct product_places {
    const void *left, *right, *added;
    void       *result, *workspace;
} product_places;

/* Fills in the library's descriptions of the call's key. */
bool           product_describe(cuda_context *c, product_call *p);
void           product_undescribe(cuda_context *c, product_call *p);
cublasStatus_t product_multiply(cuda_context *c, const product_call *p,
                                const cublasLtMatmulAlgo_t *algorithm, const product_places *at);
/* Records what a call of the library returned; `what` completes "the library ... could not". */
bool product_ok(cuda_context *c, cublasStatus_t status, const char *what);

#endif
