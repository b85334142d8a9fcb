/* Matrix products by cuBLASLt.
 *
 * The library's matrices have adjacent columns.  A result whose rows are adjacent is
 * computed as the transpose of what is asked for, with the factors exchanged.
 */
#include "machine/cuda/products.h"

/* One factor, or the result, as the library sees it. */
typedef struct matrix_view {
    int64_t rows, columns, leading; /* elements from one column to the next */
    bool    transposed;
    int64_t alignment; /* bytes */
} matrix_view;

struct product_plan {
    cublasLtMatmulDesc_t   how;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t   algorithm;
    bool                   exchanged, is_f64;
    int                    nouter; /* batch loops that the library does not run */
    int64_t                outer[MAX_LOOPS], a_step[MAX_LOOPS], b_step[MAX_LOOPS], c_step[MAX_LOOPS];
};

/* Are elements adjacent along one of the loops, and the others apart? */
static bool is_matrix(const instr *i, const access *x, int row, int column)
{
    int64_t down = i->size[row] > 1 ? x->stride[row] : 0;
    int64_t across = i->size[column] > 1 ? x->stride[column] : 0;
    if (!down || !across)
        return (i->size[row] == 1 || down > 0) && (i->size[column] == 1 || across > 0);
    return (down == 1 && across >= i->size[row]) || (across == 1 && down >= i->size[column]);
}

bool product_suits(const instr *i)
{
    int m = i->nloops - 3, n = m + 1, k = m + 2;
    return dtype_is_float(i->out[0].type) && instr_elements(i) > 0 &&
           is_matrix(i, &i->out[0], m, n) && is_matrix(i, &i->in[0], m, k) &&
           is_matrix(i, &i->in[1], k, n);
}

static cudaDataType type_of(mtf_dtype type)
{
    switch (type) {
    case MTF_BF16: return CUDA_R_16BF;
    case MTF_F16: return CUDA_R_16F;
    case MTF_F64: return CUDA_R_64F;
    default: return CUDA_R_32F;
    }
}

/* ---- matrices ---- */

/* `down` and `across` are strides along the rows and the columns of the matrix that takes part. */
static matrix_view view_of(int64_t rows, int64_t columns, int64_t down, int64_t across)
{
    bool        upright = down == 1 || rows == 1;
    matrix_view v = {.rows = rows, .columns = columns, .leading = across};
    if (columns > 1 && upright && across < rows) upright = false;
    if (!upright) v = (matrix_view){columns, rows, down, true, 0};
    if (v.leading < v.rows) v.leading = v.rows; /* a single column has no next */
    return v;
}

/* The largest power of two, up to 256, that divides all addresses of an operand's matrices. */
static int64_t alignment_of(const instr *i, const access *x)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(x->type), bits = 256 | x->offset * bytes;
    for (int k = 0; k < i->nloops - 3; k++)
        if (i->size[k] > 1) bits |= x->stride[k] * bytes;
    return bits & -bits;
}

/* ---- batches ---- */

/* Whether loop k and those after it, which make `steps`, are one loop for the operand. */
static bool continues(const access *x, const instr *i, int k, int next)
{
    return x->stride[k] == x->stride[next] * i->size[next];
}

/* The batch loops: the innermost that are one to the library, the others outside. */
static int64_t split_batch(const instr *i, product_plan *p, int64_t step[3])
{
    const access *x[3] = {&i->out[0], &i->in[0], &i->in[1]};
    int           inner = -1;
    int64_t       count = 1;
    step[0] = step[1] = step[2] = 0;
    for (int k = i->nloops - 4; k >= 0; k--) {
        if (i->size[k] == 1) continue;
        bool joins = inner < 0 || (p->nouter == 0 && continues(x[0], i, k, inner) &&
                                   continues(x[1], i, k, inner) && continues(x[2], i, k, inner));
        if (joins) {
            for (int o = 0; o < 3 && inner < 0; o++) step[o] = x[o]->stride[k];
            inner = k;
            count *= i->size[k];
        } else {
            p->outer[p->nouter] = i->size[k];
            p->c_step[p->nouter] = x[0]->stride[k] * (int64_t)mtf_dtype_bytes(x[0]->type);
            p->a_step[p->nouter] = x[1]->stride[k] * (int64_t)mtf_dtype_bytes(x[1]->type);
            p->b_step[p->nouter++] = x[2]->stride[k] * (int64_t)mtf_dtype_bytes(x[2]->type);
        }
    }
    return count;
}

/* ---- the library's descriptions ---- */

static bool lt_ok(cuda_context *c, cublasStatus_t status, const char *what)
{
    if (status == CUBLAS_STATUS_SUCCESS) return true;
    return fail(cuda_fault(c), ERR_DEVICE, "the library of matrix products could not %s: %s", what,
                c->device->api.products.cublasLtGetStatusString(status));
}

static bool describe(cuda_context *c, const matrix_view *v, mtf_dtype type, int64_t count,
                     int64_t step, cublasLtMatrixLayout_t *to)
{
    const cuda_products *lt = &c->device->api.products;
    int32_t              n = (int32_t)count;
    TRY(lt_ok(c,
              lt->cublasLtMatrixLayoutCreate(to, type_of(type), (uint64_t)v->rows,
                                             (uint64_t)v->columns, v->leading),
              "describe a matrix"));
    if (count == 1) return true;
    return lt_ok(c,
                 lt->cublasLtMatrixLayoutSetAttribute(*to, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &n,
                                                      sizeof n),
                 "describe a batch") &&
           lt_ok(c,
                 lt->cublasLtMatrixLayoutSetAttribute(
                     *to, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step),
                 "describe a batch");
}

static bool describe_product(cuda_context *c, mtf_dtype type, bool a_transposed, bool b_transposed,
                             cublasLtMatmulDesc_t *to)
{
    const cuda_products *lt = &c->device->api.products;
    bool                 is_f64 = type == MTF_F64;
    cublasOperation_t    as_is = CUBLAS_OP_N, turned = CUBLAS_OP_T;
    TRY(lt_ok(c,
              lt->cublasLtMatmulDescCreate(to, is_f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                           is_f64 ? CUDA_R_64F : CUDA_R_32F),
              "describe a product"));
    return lt_ok(c,
                 lt->cublasLtMatmulDescSetAttribute(*to, CUBLASLT_MATMUL_DESC_TRANSA,
                                                    a_transposed ? &turned : &as_is, sizeof as_is),
                 "describe a product") &&
           lt_ok(c,
                 lt->cublasLtMatmulDescSetAttribute(*to, CUBLASLT_MATMUL_DESC_TRANSB,
                                                    b_transposed ? &turned : &as_is, sizeof as_is),
                 "describe a product");
}

static bool choose(cuda_context *c, product_plan *p, const int64_t alignment[3])
{
    static const cublasLtMatmulPreferenceAttributes_t which[3] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES};
    const cuda_products            *lt = &c->device->api.products;
    cublasLtMatmulPreference_t      wish;
    cublasLtMatmulHeuristicResult_t found;
    size_t                          space = PRODUCT_WORKSPACE;
    int                             n = 0;
    TRY(lt_ok(c, lt->cublasLtMatmulPreferenceCreate(&wish), "take a preference"));
    lt->cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &space,
                                             sizeof space);
    for (int k = 0; k < 3; k++) {
        uint32_t bytes = (uint32_t)alignment[k];
        lt->cublasLtMatmulPreferenceSetAttribute(wish, which[k], &bytes, sizeof bytes);
    }
    cublasStatus_t status = lt->cublasLtMatmulAlgoGetHeuristic(c->products, p->how, p->a, p->b, p->c,
                                                               p->c, wish, 1, &found, &n);
    lt->cublasLtMatmulPreferenceDestroy(wish);
    TRY(lt_ok(c, status, "find a way to multiply"));
    if (n == 0) return fail(cuda_fault(c), ERR_DEVICE, "the library of matrix products has no way to multiply");
    p->algorithm = found.algo;
    return true;
}

/* ---- products ---- */

static bool fill_in(cuda_context *c, product_plan *p, const instr *i)
{
    const access *out = &i->out[0], *a = &i->in[0], *b = &i->in[1];
    int           m = i->nloops - 3, n = m + 1, k = m + 2;
    int64_t       step[3], rows = i->size[m], columns = i->size[n], terms = i->size[k];
    int64_t       count = split_batch(i, p, step);
    p->is_f64 = out->type == MTF_F64;
    matrix_view result = view_of(rows, columns, out->stride[m], out->stride[n]);
    p->exchanged = result.transposed;
    matrix_view left = p->exchanged ? view_of(columns, terms, b->stride[n], b->stride[k])
                                    : view_of(rows, terms, a->stride[m], a->stride[k]);
    matrix_view right = p->exchanged ? view_of(terms, rows, a->stride[k], a->stride[m])
                                     : view_of(terms, columns, b->stride[k], b->stride[n]);
    const access *first = p->exchanged ? b : a, *second = p->exchanged ? a : b;
    int64_t       alignment[3] = {alignment_of(i, first), alignment_of(i, second),
                                  alignment_of(i, out)};
    return describe(c, &result, out->type, count, step[0], &p->c) &&
           describe(c, &left, first->type, count, step[p->exchanged ? 2 : 1], &p->a) &&
           describe(c, &right, second->type, count, step[p->exchanged ? 1 : 2], &p->b) &&
           describe_product(c, out->type, left.transposed, right.transposed, &p->how) &&
           choose(c, p, alignment);
}

product_plan *product_prepare(cuda_context *c, arena *a, const instr *i, void *workspace)
{
    product_plan *p = arena_new(a, product_plan);
    (void)workspace;
    return p && fill_in(c, p, i) ? p : NULL;
}

/* One call of the library. */
static bool multiply(cuda_context *c, const product_plan *p, char *out, const char *a, const char *b,
                     void *workspace)
{
    static const float  one = 1, zero = 0;
    static const double wide_one = 1, wide_zero = 0;
    const void         *alpha = p->is_f64 ? (const void *)&wide_one : &one;
    const void         *beta = p->is_f64 ? (const void *)&wide_zero : &zero;
    const char         *left = p->exchanged ? b : a, *right = p->exchanged ? a : b;
    return lt_ok(c,
                 c->device->api.products.cublasLtMatmul(
                     c->products, p->how, alpha, left, p->a, right, p->b, beta, out, p->c, out, p->c,
                     &p->algorithm, workspace, PRODUCT_WORKSPACE, c->stream),
                 "multiply");
}

bool product_run(cuda_context *c, const product_plan *p, void *out, const void *a, const void *b,
                 void *workspace)
{
    int64_t at[MAX_LOOPS] = {0};
    for (;;) {
        int64_t to = 0, from_a = 0, from_b = 0;
        for (int k = 0; k < p->nouter; k++) {
            to += at[k] * p->c_step[k];
            from_a += at[k] * p->a_step[k];
            from_b += at[k] * p->b_step[k];
        }
        TRY(multiply(c, p, (char *)out + to, (const char *)a + from_a, (const char *)b + from_b,
                     workspace));
        int k = 0;
        while (k < p->nouter && ++at[k] == p->outer[k]) at[k++] = 0;
        if (k == p->nouter) return true;
    }
}

void product_forget(cuda_context *c, product_plan *p)
{
    const cuda_products *lt = &c->device->api.products;
    if (p->how) lt->cublasLtMatmulDescDestroy(p->how);
    if (p->a) lt->cublasLtMatrixLayoutDestroy(p->a);
    if (p->b) lt->cublasLtMatrixLayoutDestroy(p->b);
    if (p->c) lt->cublasLtMatrixLayoutDestroy(p->c);
}
