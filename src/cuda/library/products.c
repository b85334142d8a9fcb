/* Matrix products by cuBLASLt.
 *
 * The library's matrices have adjacent columns.  A result whose rows are adjacent is
 * computed as the transpose of what is asked for, with the factors exchanged.
 */
#include "cuda/library/products.h"

#include "cuda/library/product_choice.h"
#include "cuda/write/slim.h"
#include "program/epilogue.h"

/* Buffers are aligned to this many bytes; no algorithm asks for more. */
enum { MOST_ALIGNED = 64 };

/* One factor, or the result, as the library sees it. */
typedef struct matrix_view {
    int64_t rows, columns, leading;
    bool    transposed;
} matrix_view;

/* The batch loops: `count` matrices in one call, and loops around the calls. */
typedef struct batch_split {
    int64_t count, step[3]; /* elements, of the result and of both factors */
    int     nouter;
    int     outer[MAX_LOOPS]; /* loops of the instruction */
} batch_split;

struct product_plan {
    product_call call;
    bool         exchanged;
    int          first_in, added; /* numbers of addresses; `added` is 0 where nothing is */
    int          nouter;
    int64_t      outer[MAX_LOOPS], step[MAX_LOOPS][3]; /* bytes */
};

/* ---- what the library multiplies ---- */

/* Is it a matrix for cuBLASLt: adjacent elements along one loop, a leading dimension along the other? */
static bool is_matrix(const instr *i, const access *x, int row, int column)
{
    int64_t down = i->size[row] > 1 ? x->stride[row] : 0;
    int64_t across = i->size[column] > 1 ? x->stride[column] : 0;
    if (!down || !across)
        return (i->size[row] == 1 || down > 0) && (i->size[column] == 1 || across > 0);
    return (down == 1 && across >= i->size[row]) || (across == 1 && down >= i->size[column]);
}

/* Is loop k, together with the next one, a single longer loop for the operand? */
static bool continues(const instr *i, const access *x, int k, int next)
{
    return x->stride[k] == x->stride[next] * i->size[next];
}

static const access *operand_of(const instr *i, int o)
{
    return o == 0 ? &i->out[0] : &i->in[o - 1];
}

/* Does batch loop k go into one call with the loop `next` inside it?  -1: with no other. */
static bool joins(const instr *i, int k, int next)
{
    for (int o = 0; o < 3; o++) {
        const access *x = operand_of(i, o);
        if (x->stride[k] < 0 || (next >= 0 && !continues(i, x, k, next))) return false;
    }
    return true;
}

/* Loops that are one loop for all operands go into one call; of several such sets, the largest. */
static batch_split split_batch(const instr *i)
{
    int         nbatch = i->nloops - 3, begin = nbatch, last = nbatch;
    batch_split s = {.count = 1};
    for (int k = nbatch - 1; k >= 0; k--) {
        int64_t count = 1;
        int     inner = -1, first = k;
        for (int j = k; j >= 0; j--) {
            if (i->size[j] == 1) continue;
            if (!joins(i, j, inner)) break;
            count *= i->size[j];
            inner = first = j;
        }
        if (count > s.count && count <= INT32_MAX) s.count = count, begin = first, last = k;
    }
    for (int k = 0; k < nbatch; k++)
        if (i->size[k] > 1 && (k < begin || k > last)) s.outer[s.nouter++] = k;
    while (last > begin && i->size[last] == 1) last--;
    for (int o = 0; o < 3 && s.count > 1; o++) s.step[o] = operand_of(i, o)->stride[last];
    return s;
}

/* Many calls that do little each take longer than one kernel of our own. */
enum { MOST_CALLS = 8, WORTH_A_CALL = 4 << 20 /* multiply-adds */ };

static bool is_worth_calls(const instr *i)
{
    batch_split s = split_batch(i);
    int64_t     calls = 1;
    for (int k = 0; k < s.nouter; k++) calls *= i->size[s.outer[k]];
    return calls <= MOST_CALLS || instr_elements(i) / calls >= WORTH_A_CALL;
}

/* See F8_MULTIPLE; the result's rows and columns must be aligned as well. */
static bool suits_f8(const instr *i)
{
    const access *a = &i->in[0], *b = &i->in[1], *out = &i->out[0];
    int           m = i->nloops - 3, k = m + 2;
    int64_t       unit = F8_MULTIPLE / (int64_t)mtf_dtype_bytes(out->type);
    bool          aligned =
        a->offset % F8_MULTIPLE == 0 && b->offset % F8_MULTIPLE == 0 && out->offset % unit == 0;
    for (int l = 0; l < i->nloops && aligned; l++) {
        aligned = l < m || i->size[l] % F8_MULTIPLE == 0;
        if (l == k || i->size[l] == 1) continue;
        aligned = aligned && a->stride[l] % F8_MULTIPLE == 0 && b->stride[l] % F8_MULTIPLE == 0 &&
                  (out->stride[l] == 1 || out->stride[l] % unit == 0);
    }
    return aligned && a->stride[k] == 1 && b->stride[k] == 1 &&
           (out->type == MTF_F32 || out->type == MTF_BF16) &&
           (a->type == MTF_F8E4M3 || b->type == MTF_F8E4M3);
}

bool product_suits(const instr *i)
{
    int m = i->nloops - 3, n = m + 1, k = m + 2;
    if (dtype_is_f8(i->in[0].type) && !suits_f8(i)) return false;
    return dtype_is_float(i->out[0].type) && instr_elements(i) > 0 && !slim_suits(i) &&
           is_matrix(i, &i->out[0], m, n) && is_matrix(i, &i->in[0], m, k) &&
           is_matrix(i, &i->in[1], k, n) && is_worth_calls(i);
}

/* ---- the library's view ---- */

/* `down` and `across` are strides along the rows and the columns of the matrix that takes part. */
static matrix_view view_of(int64_t rows, int64_t columns, int64_t down, int64_t across)
{
    /* A single row of adjacent elements is a column: the library moves adjacent elements at once. */
    bool upright = rows == 1 ? columns == 1 || across != 1 : down == 1;
    if (upright && rows > 1 && columns > 1 && across < rows) upright = false;
    matrix_view v = {rows, columns, across, false};
    if (!upright) v = (matrix_view){columns, rows, down, true};
    if (v.columns == 1) v.leading = v.rows; /* there is no next column */
    return v;
}

static int32_t type_of(mtf_dtype type)
{
    switch (type) {
    case MTF_BF16: return CUDA_R_16BF;
    case MTF_F16: return CUDA_R_16F;
    case MTF_F64: return CUDA_R_64F;
    case MTF_F8E4M3: return CUDA_R_8F_E4M3;
    case MTF_F8E5M2: return CUDA_R_8F_E5M2;
    default: return CUDA_R_32F;
    }
}

static int32_t compute_of(const cuda_context *c, const instr *i)
{
    bool f32 = i->in[0].type == MTF_F32;
    if (i->out[0].type == MTF_F64) return CUBLAS_COMPUTE_64F;
    return f32 && c->device->face.session->opts.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                     : CUBLAS_COMPUTE_32F;
}

/* The largest power of two that divides all addresses of an operand's matrices. */
static int32_t alignment_of(const instr *i, const access *x, const void *address)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(x->type), bits = MOST_ALIGNED;
    bits |= (int64_t)((uintptr_t)address % MOST_ALIGNED);
    for (int k = 0; k < i->nloops - 3; k++)
        if (i->size[k] > 1) bits |= x->stride[k] * bytes;
    return (int32_t)(bits & -bits);
}

static void set_matrix(product_key *k, int which, matrix_view v, mtf_dtype type, int64_t step,
                       int32_t alignment)
{
    k->type[which] = type_of(type);
    k->transposed[which] = which != RESULT && v.transposed;
    k->rows[which] = v.rows;
    k->columns[which] = v.columns;
    k->leading[which] = v.leading;
    k->step[which] = step;
    k->alignment[which] = alignment;
}

/* Fills in the key; true: the factors are exchanged. */
static bool set_key(cuda_context *c, product_key *key, const instr *i, const batch_split *s,
                    void *const *addresses)
{
    const access *out = &i->out[0], *a = &i->in[0], *b = &i->in[1];
    int           m = i->nloops - 3, n = m + 1, k = m + 2;
    int64_t       rows = i->size[m], columns = i->size[n], terms = i->size[k];
    int32_t       aligned[3];
    for (int o = 0; o < 3; o++)
        aligned[o] = alignment_of(i, operand_of(i, o), addresses[o ? i->nout + o - 1 : 0]);
    matrix_view result = view_of(rows, columns, out->stride[m], out->stride[n]);
    bool        flipped = result.transposed;
    matrix_view of_a = flipped ? view_of(terms, rows, a->stride[k], a->stride[m])
                               : view_of(rows, terms, a->stride[m], a->stride[k]);
    matrix_view of_b = flipped ? view_of(columns, terms, b->stride[n], b->stride[k])
                               : view_of(terms, columns, b->stride[k], b->stride[n]);
    if (i->contract.add) {
        int     added = i->contract.add;
        int32_t other = alignment_of(i, &i->in[added], addresses[i->nout + added]);
        if (other < aligned[0]) aligned[0] = other;
    }
    *key = (product_key){.compute = compute_of(c, i), .batches = (int32_t)s->count};
    set_matrix(key, RESULT, result, out->type, s->step[0], aligned[0]);
    set_matrix(key, flipped ? RIGHT : LEFT, of_a, a->type, s->step[1], aligned[1]);
    set_matrix(key, flipped ? LEFT : RIGHT, of_b, b->type, s->step[2], aligned[2]);
    return flipped;
}

/* ---- epilogues ---- */

/* 0: the library has none that does all this. */
static uint32_t epilogue_of(const instr *i, bool exchanged)
{
    const contract_args *c = &i->contract;
    if (c->total && c->total_of == TOTAL_OF_C)
        return c->activation == FN_gelu_grad && !c->bias ? CUBLASLT_EPILOGUE_DGELU_BGRAD : 0;
    if (c->total) {
        bool left = (c->total_of == TOTAL_OF_A) != exchanged;
        return c->bias || c->activation ? 0
               : left                   ? CUBLASLT_EPILOGUE_BGRADA
                                        : CUBLASLT_EPILOGUE_BGRADB;
    }
    if (c->at) return c->bias || c->kept ? 0 : CUBLASLT_EPILOGUE_DGELU;
    if (c->activation == FN_gelu && c->kept)
        return c->bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    if (c->activation == FN_gelu)
        return c->bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    if (c->activation == FN_relu && !c->kept)
        return c->bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    return c->bias && !c->activation && !c->kept ? CUBLASLT_EPILOGUE_BIAS : 0;
}

static bool is_aligned(const void *at)
{
    enum { VECTOR = 16 }; /* bytes that kernels move at once */
    return (uintptr_t)at % VECTOR == 0;
}

/* Adds the epilogue to the call; false: the library cannot make it. */
static bool set_epilogue(product_plan *p, const instr *i, const batch_split *s,
                         void *const *addresses)
{
    const contract_args *c = &i->contract;
    uint32_t             epilogue = epilogue_of(i, p->exchanged);
    int64_t              leading = p->call.key.leading[RESULT];
    if (c->add) {
        p->added = i->nout + c->add;
        p->call.key.epilogue = ADDS_A_MATRIX;
    }
    if (!epilogue_is_any(i)) return true;
    epilogue_parts parts;
    epilogue_split(i, &parts);
    for (int k = 1; k < parts.n; k++) p->call.spared += instr_bytes(&parts.part[k]);
    p->call.key.epilogue |= (int32_t)epilogue;
    if (c->bias) p->call.vector = addresses[i->nout + c->bias];
    if (c->total) p->call.vector = addresses[c->total];
    if (c->at) p->call.matrix = addresses[i->nout + c->at];
    if (c->kept) p->call.matrix = addresses[c->kept];
    return epilogue && s->count == 1 && s->nouter == 0 && is_aligned(p->call.vector) &&
           is_aligned(p->call.matrix) && (!p->call.matrix || leading % 8 == 0);
}

/* ---- products ---- */

static product_places places_of(const product_plan *p, void *const *addresses,
                                const int64_t offset[3], void *workspace)
{
    char       *out = (char *)addresses[0] + offset[0];
    const char *a = (const char *)addresses[p->first_in] + offset[1];
    const char *b = (const char *)addresses[p->first_in + 1] + offset[2];
    const char *added = p->added ? (const char *)addresses[p->added] + offset[0] : out;
    return (product_places){p->exchanged ? b : a, p->exchanged ? a : b, added, out, workspace};
}

product_plan *product_prepare(cuda_context *c, arena *a, const instr *i, void *const *addresses,
                              bool may_write, void *workspace)
{
    product_plan *p = arena_new(a, product_plan);
    if (!p) return NULL;
    batch_split s = split_batch(i);
    p->first_in = i->nout;
    p->exchanged = set_key(c, &p->call.key, i, &s, addresses);
    p->call.refused = !set_epilogue(p, i, &s, addresses);
    if (p->call.refused) return p;
    p->nouter = s.nouter;
    for (int k = 0; k < s.nouter; k++) {
        p->outer[k] = i->size[s.outer[k]];
        for (int o = 0; o < 3; o++)
            p->step[k][o] = operand_of(i, o)->stride[s.outer[k]] *
                            (int64_t)mtf_dtype_bytes(operand_of(i, o)->type);
    }
    product_places at = places_of(p, addresses, (int64_t[3]){0}, workspace);
    if (product_describe(c, &p->call) && product_choose(c, &p->call, &at, may_write)) return p;
    product_forget(c, p);
    return NULL;
}

bool product_is_refused(const product_plan *p)
{
    return p->call.refused;
}

bool product_run(cuda_context *c, const product_plan *p, void *const *addresses, void *workspace)
{
    int64_t at[MAX_LOOPS] = {0};
    for (;;) {
        int64_t offset[3] = {0};
        for (int k = 0; k < p->nouter; k++)
            for (int o = 0; o < 3; o++) offset[o] += at[k] * p->step[k][o];
        product_places places = places_of(p, addresses, offset, workspace);
        TRY(product_ok(c, product_multiply(c, &p->call, &p->call.algorithm, &places), "multiply"));
        int k = 0;
        while (k < p->nouter && ++at[k] == p->outer[k]) at[k++] = 0;
        if (k == p->nouter) return true;
    }
}

void product_forget(cuda_context *c, product_plan *p)
{
    product_undescribe(c, &p->call);
}
