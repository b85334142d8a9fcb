/* One call of cuBLASLt. */
#include "cuda/library/product_call.h"

bool product_ok(cuda_context *c, cublasStatus_t status, const char *what)
{
    if (status == CUBLAS_STATUS_SUCCESS) return true;
    return fail(cuda_fault(c), ERR_DEVICE, "cuBLASLt could not %s: %s", what,
                c->device->api.products.cublasLtGetStatusString(status));
}

static bool describe_matrix(cuda_context *c, const product_key *k, int m,
                            cublasLtMatrixLayout_t *to)
{
    static const char    what[] = "describe a matrix";
    const cuda_products *lt = &c->device->api.products;
    TRY(product_ok(c,
                   lt->cublasLtMatrixLayoutCreate(to, (cudaDataType)k->type[m],
                                                  (uint64_t)k->rows[m], (uint64_t)k->columns[m],
                                                  k->leading[m]),
                   what));
    if (k->batches == 1) return true;
    return product_ok(c,
                      lt->cublasLtMatrixLayoutSetAttribute(*to, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                           &k->batches, sizeof k->batches),
                      what) &&
           product_ok(c,
                      lt->cublasLtMatrixLayoutSetAttribute(
                          *to, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &k->step[m],
                          sizeof k->step[m]),
                      what);
}

static bool describe_factor(cuda_context *c, const product_call *p, int m,
                            cublasLtMatmulDescAttributes_t which)
{
    cublasOperation_t op = p->key.transposed[m] ? CUBLAS_OP_T : CUBLAS_OP_N;
    return product_ok(
        c, c->device->api.products.cublasLtMatmulDescSetAttribute(p->how, which, &op, sizeof op),
        "describe a product");
}

static bool set_epilogue(cuda_context *c, product_call *p, cublasLtMatmulDescAttributes_t which,
                         const void *from, size_t bytes)
{
    return product_ok(
        c, c->device->api.products.cublasLtMatmulDescSetAttribute(p->how, which, from, bytes),
        "describe an epilogue");
}

static bool describe_epilogue(cuda_context *c, product_call *p)
{
    uint32_t epilogue = (uint32_t)p->key.epilogue & ~(uint32_t)ADDS_A_MATRIX;
    int64_t  leading = p->key.leading[RESULT];
    if (!epilogue) return true;
    TRY(set_epilogue(c, p, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    if (p->vector)
        TRY(set_epilogue(c, p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p->vector, sizeof p->vector));
    return !p->matrix ||
           (set_epilogue(c, p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &p->matrix,
                         sizeof p->matrix) &&
            set_epilogue(c, p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &leading, sizeof leading));
}

bool product_describe(cuda_context *c, product_call *p)
{
    cudaDataType scale = p->key.compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F;
    for (int m = 0; m < MATRICES; m++) TRY(describe_matrix(c, &p->key, m, &p->layout[m]));
    return product_ok(c,
                      c->device->api.products.cublasLtMatmulDescCreate(
                          &p->how, (cublasComputeType_t)p->key.compute, scale),
                      "describe a product") &&
           describe_factor(c, p, LEFT, CUBLASLT_MATMUL_DESC_TRANSA) &&
           describe_factor(c, p, RIGHT, CUBLASLT_MATMUL_DESC_TRANSB) && describe_epilogue(c, p);
}

void product_undescribe(cuda_context *c, product_call *p)
{
    const cuda_products *lt = &c->device->api.products;
    if (p->how) lt->cublasLtMatmulDescDestroy(p->how);
    for (int m = 0; m < MATRICES; m++)
        if (p->layout[m]) lt->cublasLtMatrixLayoutDestroy(p->layout[m]);
}

cublasStatus_t product_multiply(cuda_context *c, const product_call *p,
                                const cublasLtMatmulAlgo_t *algorithm, const product_places *at)
{
    static const float  one = 1, zero = 0;
    static const double wide_one = 1, wide_zero = 0;
    bool                wide = p->key.compute == CUBLAS_COMPUTE_64F;
    bool                adds = p->key.epilogue & ADDS_A_MATRIX;
    const void         *beta =
        wide ? (const void *)(adds ? &wide_one : &wide_zero) : (const void *)(adds ? &one : &zero);
    return c->device->api.products.cublasLtMatmul(
        c->products, p->how, wide ? (const void *)&wide_one : &one, at->left, p->layout[LEFT],
        at->right, p->layout[RIGHT], beta, at->added, p->layout[RESULT], at->result,
        p->layout[RESULT], algorithm, at->workspace, PRODUCT_WORKSPACE, c->stream);
}
