/* The functions of cuBLASLt for a GPU that is the host.
 *
 * They refuse what the library refuses, with its own status: leading dimensions shorter
 * than a column, sizes that do not fit together, pointers that are less aligned than the
 * preference said, too little working space, f8 in any other way than a GPU of compute
 * capability 9.0 multiplies it.
 */
#include "host_products.h"

#include <stdlib.h>
#include <string.h>

#include "host_work.h"

enum { VERSION = 130000, WORKSPACE_ALIGNMENT = 256 };
static const uint64_t magic = 0x6d74662d686f7374u;

#define FITS(own, opaque) _Static_assert(sizeof(own) <= sizeof(opaque), "it must fit")
FITS(host_layout, cublasLtMatrixLayoutOpaque_t);
FITS(host_product, cublasLtMatmulDescOpaque_t);
FITS(host_preference, cublasLtMatmulPreferenceOpaque_t);
FITS(host_algorithm, cublasLtMatmulAlgo_t);

/* ---- the library ---- */

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = calloc(1, 8);
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void)
{
    return VERSION;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED: return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "the functionality requested is not supported";
    default: return "the function failed to launch on the GPU";
    }
}

/* ---- descriptors ---- */

/* Attributes of smaller size than a field are refused, larger ones taken in part. */
static cublasStatus_t set(void *field, size_t room, const void *from, size_t bytes)
{
    if (!from || bytes < room) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(field, from, room);
    return CUBLAS_STATUS_SUCCESS;
}
#define SET(field) set(&(field), sizeof(field), from, bytes)

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading)
{
    host_layout x = {.type = type, .rows = rows, .columns = columns, .leading = leading};
    x.order = CUBLASLT_ORDER_COL;
    x.batches = 1;
    *made = calloc(1, sizeof **made);
    memcpy(*made, &x, sizeof x);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t x)
{
    free(x);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t          opaque,
                                                cublasLtMatrixLayoutAttribute_t which,
                                                const void *from, size_t bytes)
{
    host_layout *x = (host_layout *)opaque;
    switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return SET(x->type);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return SET(x->order);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return SET(x->rows);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return SET(x->columns);
    case CUBLASLT_MATRIX_LAYOUT_LD: return SET(x->leading);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return SET(x->batches);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return SET(x->batch_stride);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    host_product p = {.compute = compute, .scale = scale, .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
    p.op_a = p.op_b = CUBLAS_OP_N;
    *made = calloc(1, sizeof **made);
    memcpy(*made, &p, sizeof p);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t p)
{
    free(p);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t           opaque,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void *from, size_t bytes)
{
    host_product *p = (host_product *)opaque;
    switch (which) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return SET(p->compute);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return SET(p->scale);
    case CUBLASLT_MATMUL_DESC_TRANSA: return SET(p->op_a);
    case CUBLASLT_MATMUL_DESC_TRANSB: return SET(p->op_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return SET(p->epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return SET(p->bias);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return SET(p->aux);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return SET(p->aux_leading);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made)
{
    host_preference p = {.reductions = CUBLASLT_REDUCTION_SCHEME_MASK,
                         .alignment = {256, 256, 256, 256}};
    *made = calloc(1, sizeof **made);
    memcpy(*made, &p, sizeof p);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    free(p);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t           opaque,
                                                    cublasLtMatmulPreferenceAttributes_t which,
                                                    const void *from, size_t bytes)
{
    host_preference *p = (host_preference *)opaque;
    switch (which) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return SET(p->most_workspace);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return SET(p->reductions);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return SET(p->alignment[0]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return SET(p->alignment[1]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return SET(p->alignment[2]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return SET(p->alignment[3]);
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}

/* ---- what fits together ---- */

static bool layout_holds(const host_layout *x)
{
    return x->rows > 0 && x->columns > 0 && x->leading >= (int64_t)x->rows && x->batches > 0;
}

static bool sizes_fit(const host_product *p, const host_layout *a, const host_layout *b,
                      const host_layout *c, const host_layout *d)
{
    bool     transpose_a = p->op_a != CUBLAS_OP_N, transpose_b = p->op_b != CUBLAS_OP_N;
    uint64_t m = transpose_a ? a->columns : a->rows, k = transpose_a ? a->rows : a->columns;
    uint64_t n = transpose_b ? b->rows : b->columns;
    return (transpose_b ? b->columns : b->rows) == k && d->rows == m && d->columns == n &&
           c->rows == m && c->columns == n && a->batches == d->batches &&
           b->batches == d->batches && c->batches == d->batches;
}

static bool is_f8(cudaDataType type)
{
    return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

/* Matrices of elements of so many bytes, whose columns are multiples of 16 bytes. */
static bool in_units(const host_layout *x, int64_t bytes)
{
    return x->rows % 16 == 0 && x->columns % 16 == 0 && x->leading * bytes % 16 == 0 &&
           (x->batches == 1 || x->batch_stride * bytes % 16 == 0);
}

/* A is transposed, B is not; not both are e5m2; all sizes are multiples of 16. */
static bool f8_is_supported(const host_product *p, const host_layout *a, const host_layout *b,
                            const host_layout *c, const host_layout *d)
{
    bool wide = d->type == CUDA_R_32F,
         out = wide || d->type == CUDA_R_16BF || d->type == CUDA_R_16F;
    return is_f8(a->type) && is_f8(b->type) && out && c->type == d->type &&
           (a->type == CUDA_R_8F_E4M3 || b->type == CUDA_R_8F_E4M3) &&
           p->compute == CUBLAS_COMPUTE_32F && p->scale == CUDA_R_32F && p->op_a == CUBLAS_OP_T &&
           p->op_b == CUBLAS_OP_N && in_units(a, 1) && in_units(b, 1) && in_units(d, wide ? 4 : 2);
}

/* The combinations of the table in the library's manual that are used here. */
static bool types_are_supported(const host_product *p, const host_layout *a, const host_layout *b,
                                const host_layout *c, const host_layout *d)
{
    cudaDataType in = a->type, out = d->type;
    if (is_f8(a->type) || is_f8(b->type)) return f8_is_supported(p, a, b, c, d);
    if (b->type != in || c->type != out) return false;
    switch (p->compute) {
    case CUBLAS_COMPUTE_64F: return p->scale == CUDA_R_64F && in == CUDA_R_64F && out == in;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
        return p->scale == CUDA_R_32F && in == CUDA_R_32F && out == in;
    case CUBLAS_COMPUTE_32F:
        if (p->scale != CUDA_R_32F) return false;
        if (in == CUDA_R_16BF || in == CUDA_R_16F) return out == in || out == CUDA_R_32F;
        return in == CUDA_R_32F && out == in;
    default: return false;
    }
}

/* With MTF_HOST_CUDA_PLAIN in the environment there are no epilogues. */
static cublasStatus_t check_epilogue(const host_product *p, const host_layout *d)
{
    bool with_bias = false, with_aux = false;
    switch (p->epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT: return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_GELU: break;
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB: with_bias = true; break;
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_DGELU: with_aux = true; break;
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD: with_bias = with_aux = true; break;
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if ((with_bias && !p->bias) || (with_aux && !p->aux)) return CUBLAS_STATUS_INVALID_VALUE;
    if (with_aux &&
        (p->aux_leading % 8 || p->aux_leading < (int64_t)d->rows || (uintptr_t)p->aux % 16))
        return CUBLAS_STATUS_INVALID_VALUE;
    /* Only a bias is the same for all matrices of a batch. */
    bool shared = p->epilogue < CUBLASLT_EPILOGUE_RELU_AUX;
    if (getenv("MTF_HOST_CUDA_PLAIN") || d->type == CUDA_R_64F || (!shared && d->batches > 1))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t check(const host_product *p, const host_layout *a, const host_layout *b,
                            const host_layout *c, const host_layout *d)
{
    if (!p || !a || !b || !c || !d) return CUBLAS_STATUS_INVALID_VALUE;
    if (!layout_holds(a) || !layout_holds(b) || !layout_holds(c) || !layout_holds(d) ||
        !sizes_fit(p, a, b, c, d))
        return CUBLAS_STATUS_INVALID_VALUE;
    bool plain = a->order == CUBLASLT_ORDER_COL && b->order == a->order && c->order == a->order &&
                 d->order == a->order;
    if (!plain || !types_are_supported(p, a, b, c, d)) return CUBLAS_STATUS_NOT_SUPPORTED;
    return check_epilogue(p, d);
}

#define CHECK(how, a, b, c, d)                                                                     \
    check((const host_product *)(how), (const host_layout *)(a), (const host_layout *)(b),         \
          (const host_layout *)(c), (const host_layout *)(d))

/* ---- algorithms ---- */

static void result_of(const host_algorithm *x, cublasLtMatmulHeuristicResult_t *to)
{
    memset(to, 0, sizeof *to);
    memcpy(&to->algo, x, sizeof *x);
    to->workspaceSize = x->workspace;
    to->state = CUBLAS_STATUS_SUCCESS;
    to->wavesCount = 1;
}

/* Sums at once, or in parts that are added in one of three ways. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t how,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t *found, int *n)
{
    static const struct {
        uint32_t parts, reduction;
        uint64_t workspace;
    } ways[] = {{2, CUBLASLT_REDUCTION_SCHEME_INPLACE, 4096},
                {1, CUBLASLT_REDUCTION_SCHEME_NONE, 0},
                {3, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 1 << 20},
                {2, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, 1 << 16}};
    const host_preference *wish = (const host_preference *)preference;
    *n = 0;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    cublasStatus_t status = CHECK(how, a, b, c, d);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (!wish || most < 1) return CUBLAS_STATUS_INVALID_VALUE;
    for (size_t k = 0; k < sizeof ways / sizeof *ways && *n < most; k++) {
        host_algorithm x = {magic, ways[k].parts, ways[k].reduction, {0}, ways[k].workspace};
        bool           allowed = !x.reduction || (wish->reductions & x.reduction);
        if (!allowed || x.workspace > wish->most_workspace) continue;
        memcpy(x.alignment, wish->alignment, sizeof x.alignment);
        result_of(&x, &found[(*n)++]);
    }
    return *n ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t how,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t      *algorithm,
                                       cublasLtMatmulHeuristicResult_t *result)
{
    host_algorithm x;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    memcpy(&x, algorithm, sizeof x);
    cublasStatus_t status = CHECK(how, a, b, c, d);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (x.magic != magic || x.parts < 1 || x.parts > 3) return CUBLAS_STATUS_INVALID_VALUE;
    result_of(&x, result);
    return CUBLAS_STATUS_SUCCESS;
}

static bool aligned(const void *at, uint32_t bytes)
{
    return (uintptr_t)at % bytes == 0;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t how, const void *alpha,
                              const void *from_a, cublasLtMatrixLayout_t a, const void *from_b,
                              cublasLtMatrixLayout_t b, const void *beta, const void *from_c,
                              cublasLtMatrixLayout_t c, void *to_d, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t bytes,
                              cudaStream_t stream)
{
    cublasLtMatmulHeuristicResult_t checked;
    host_algorithm                  x = {magic, 1, 0, {1, 1, 1, 1}, 0};
    if (algorithm) memcpy(&x, algorithm, sizeof x);
    cublasStatus_t status = cublasLtMatmulAlgoCheck(handle, how, a, b, c, d,
                                                    (const cublasLtMatmulAlgo_t *)&x, &checked);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (!alpha || !beta || !from_a || !from_b || !from_c || !to_d || x.workspace > bytes ||
        (x.workspace && (!workspace || !aligned(workspace, WORKSPACE_ALIGNMENT))))
        return CUBLAS_STATUS_INVALID_VALUE;
    host_layout of_a;
    memcpy(&of_a, a, sizeof of_a);
    uint32_t least = is_f8(of_a.type) ? 16 : 1;
    if (!aligned(from_a, least) || !aligned(from_b, least) || !aligned(to_d, least))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!aligned(from_a, x.alignment[0]) || !aligned(from_b, x.alignment[1]) ||
        !aligned(from_c, x.alignment[2]) || !aligned(to_d, x.alignment[3]))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    host_multiply w = {.from_a = from_a, .from_b = from_b, .from_c = from_c, .to_d = to_d};
    memcpy(&w.how, how, sizeof w.how);
    memcpy(&w.a, a, sizeof w.a);
    memcpy(&w.b, b, sizeof w.b);
    memcpy(&w.c, c, sizeof w.c);
    memcpy(&w.d, d, sizeof w.d);
    bool wide = w.how.scale == CUDA_R_64F;
    w.alpha = wide ? *(const double *)alpha : (double)*(const float *)alpha;
    w.beta = wide ? *(const double *)beta : (double)*(const float *)beta;
    w.parts = (int)x.parts;
    w.workspace = workspace;
    w.workspace_bytes = x.workspace;
    CUresult queued = host_queue((CUstream)stream, "a product", host_multiply_now, &w, sizeof w);
    return queued == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
