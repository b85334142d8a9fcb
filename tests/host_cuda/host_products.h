/* Matrix products on the host: what they are, and how they are computed. */
#ifndef HOST_PRODUCTS_H
#define HOST_PRODUCTS_H

#include <cublasLt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the library's own descriptors hold; each fits into the opaque struct of its name. */
typedef struct host_layout {
    cudaDataType    type;
    cublasLtOrder_t order;
    uint64_t        rows, columns;
    int64_t         leading, batch_stride;
    int32_t         batches;
} host_layout;

typedef struct host_product {
    cublasComputeType_t compute;
    cudaDataType        scale;
    cublasOperation_t   op_a, op_b;
    uint32_t            epilogue; /* cublasLtEpilogue_t */
    void               *bias, *aux;
    int64_t             aux_leading;
} host_product;

typedef struct host_preference {
    uint64_t most_workspace;
    uint32_t reductions;
    uint32_t alignment[4]; /* of A, B, C, D */
} host_preference;

/* An algorithm: sums in `parts`, which are added afterwards. */
typedef struct host_algorithm {
    uint64_t magic;
    uint32_t parts, reduction;
    uint32_t alignment[4];
    uint64_t workspace;
} host_algorithm;

/* One call of cublasLtMatmul, as it is queued. */
typedef struct host_multiply {
    host_product how;
    host_layout  a, b, c, d;
    const void  *from_a, *from_b, *from_c;
    void        *to_d;
    double       alpha, beta;
    int          parts;
    void        *workspace;
    size_t       workspace_bytes;
} host_multiply;

void host_multiply_now(const void *multiply);

#endif
