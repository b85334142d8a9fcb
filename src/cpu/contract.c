/* The sum of products over a shared dimension.
 *
 *     c[b.., m, n] = sum over k of a[b.., m, k] * b[b.., k, n]
 *
 * or, where the product adds into its result, += the sum.
 *
 * Floats are computed by the project's own loops and tiles (f32 and bf16, as contract_way says), or
 * by BLAS if it can express the strides; all other types by a plain loop.  Each of these runs on
 * one thread, and the threads take pieces of the product.  The bounds of pieces depend on the sizes
 * only; neighbouring pieces of one thread are one call, because each call packs an operand again.
 * Many threads take blocks of rows and columns instead.
 */
#include "base/saturate.h"
#include "base/whole.h"
#include "cpu/arith.h"
#include "cpu/kernels.h"
#include "cpu/matrix.h"
#include "cpu/walk.h"
#include "cpu/short_tile.h"
#include "mtf_build.h"
#include "cpu/contract_way.h"

enum {
    PARALLEL_PRODUCT = 64 * 1024, /* below this many multiply-adds one core computes everything */
    MOST_PIECES = 64,
    LANES = 64 /* sums that a plain loop keeps at once */
};

/* The transposed product: c' = b' a'. */
static product product_flipped(const product *p)
{
    return (product){.type = p->type,
                     .result = p->result,
                     .m = p->n,
                     .n = p->m,
                     .k = p->k,
                     .a_m = p->b_n,
                     .a_k = p->b_k,
                     .b_k = p->a_k,
                     .b_n = p->a_m,
                     .c_m = p->c_n,
                     .c_n = p->c_m,
                     .tile = p->tile,
                     .add = p->add};
}

/* ---- plain loops -------------------------------------------------------------------------- */

/* to[lane] += sums[lane] */
#define ADD_TO_LANES(suffix, element, sum)                                                         \
    static void add_to_lanes_##suffix(element *to, int64_t lane, const sum *sums, int64_t count)   \
    {                                                                                              \
        for (int64_t l = 0; l < count; l++, to += lane)                                            \
            *to = store_##suffix(add_##suffix(load_##suffix(*to), sums[l]));                       \
    }

EACH_ELEMENT_TYPE(ADD_TO_LANES)

/* c[m, n] = or += sum over k of a[m, k] * b[k, n], a strip of n at a time so that the strip of b
 * stays in the cache over all m. */
#define PLAIN_PRODUCT_TO(name, suffix, element, sum, result, result_suffix)                        \
    static void name(const product *p, const void *a_, const void *b_, void *c_)                   \
    {                                                                                              \
        const element *a = a_, *b = b_;                                                            \
        result        *c = c_;                                                                     \
        for (int64_t first = 0; first < p->n; first += LANES) {                                    \
            int64_t lanes = p->n - first < LANES ? p->n - first : LANES;                           \
            for (int64_t i = 0; i < p->m; i++) {                                                   \
                sum sums[LANES] = {0};                                                             \
                for (int64_t l = 0; l < p->k; l++)                                                 \
                    add_lanes_##suffix(sums, lanes, a + i * p->a_m + l * p->a_k, 0,                \
                                       b + l * p->b_k + first * p->b_n, p->b_n);                   \
                (p->add ? add_to_lanes_##result_suffix : store_lanes_##result_suffix)(             \
                    c + i * p->c_m + first * p->c_n, p->c_n, sums, lanes);                         \
            }                                                                                      \
        }                                                                                          \
    }
#define PLAIN_PRODUCT(suffix, element, sum)                                                        \
    PLAIN_PRODUCT_TO(plain_##suffix, suffix, element, sum, element, suffix)

EACH_ELEMENT_TYPE(PLAIN_PRODUCT)
PLAIN_PRODUCT_TO(plain_bf16_wide, bf16, uint16_t, float, float, f32)

static void product_plain(const product *p, const void *a, const void *b, void *c)
{
    static void (*const plain[DTYPES])(const product *, const void *, const void *, void *) =
        BY_ELEMENT_TYPE(plain);
    void (*run)(const product *, const void *, const void *, void *) =
        p->result == p->type ? plain[p->type] : plain_bf16_wide;
    /* The inner loop runs along n: transpose the product if only m has adjacent elements, or if n
     * is too short to fill the lanes. */
    if ((p->b_n != 1 && p->a_m == 1) || (p->n == 1 && p->m > 1)) {
        product flipped = product_flipped(p);
        run(&flipped, b, a, c);
    } else {
        run(p, a, b, c);
    }
}

/* ---- BLAS --------------------------------------------------------------------------------- */

static bool fits_int(int64_t size)
{
    return size > 0 && size <= INT_MAX;
}

/* c = or += sum over k of a[k] * b[k] */
static bool product_dot(const product *p, const void *a, const void *b, void *c)
{
    if (!fits_int(p->k) || !fits_int(p->a_k) || !fits_int(p->b_k)) return false;
    if (p->type == MTF_F32) {
        float sum = cblas_sdot((int)p->k, a, (int)p->a_k, b, (int)p->b_k);
        *(float *)c = p->add ? *(float *)c + sum : sum;
    } else {
        double sum = cblas_ddot((int)p->k, a, (int)p->a_k, b, (int)p->b_k);
        *(double *)c = p->add ? *(double *)c + sum : sum;
    }
    return true;
}

/* c[m] = or += sum over k of a[m, k] * b[k] */
static bool product_gemv(const product *p, const matrix *shape, const void *a, const void *b,
                         void *c)
{
    int64_t b_k = p->k == 1 ? 1 : p->b_k;
    if (!fits_int(p->m) || !fits_int(p->k) || !fits_int(b_k) || !fits_int(p->c_m)) return false;
    int rows = (int)(shape->transposed ? p->k : p->m),
        cols = (int)(shape->transposed ? p->m : p->k);
    /* Zeroed here and added to: c may hold NaN, and libraries differ on 0 * NaN. */
    if (p->type == MTF_F32) {
        for (int64_t i = 0; i < p->m && !p->add; i++) ((float *)c)[i * p->c_m] = 0;
        cblas_sgemv(CblasRowMajor, shape->transposed ? CblasTrans : CblasNoTrans, rows, cols, 1.0f,
                    a, shape->ld, b, (int)b_k, 1.0f, c, (int)p->c_m);
    } else {
        for (int64_t i = 0; i < p->m && !p->add; i++) ((double *)c)[i * p->c_m] = 0;
        cblas_dgemv(CblasRowMajor, shape->transposed ? CblasTrans : CblasNoTrans, rows, cols, 1.0,
                    a, shape->ld, b, (int)b_k, 1.0, c, (int)p->c_m);
    }
    return true;
}

/* False if BLAS cannot express the strides; then nothing was written. */
static bool product_blas(const product *p, const void *a, const void *b, void *c)
{
    if (p->m == 1 && p->n == 1) return product_dot(p, a, b, c);
    gemm g = {.type = p->type, .add = p->add};
    if (!matrix_of(p->m, p->n, p->c_m, p->c_n, &g.c)) return false;
    if (g.c.transposed || p->m == 1) {
        product flipped = product_flipped(p);
        return product_blas(&flipped, b, a, c);
    }
    if (!matrix_of(p->m, p->k, p->a_m, p->a_k, &g.a)) return false;
    if (p->n == 1) return product_gemv(p, &g.a, a, b, c);
    if (!matrix_of(p->k, p->n, p->b_k, p->b_n, &g.b)) return false;
    if (!fits_int(p->m) || !fits_int(p->n) || !fits_int(p->k)) return false;
    g.m = (int)p->m;
    g.n = (int)p->n;
    g.k = (int)p->k;
    gemm_run(&g, a, b, c);
    return true;
}

/* `way` was chosen for the whole product: a piece may be one row.  False if nothing was written. */
static bool product_bf16(contract_way way, const product *p, const void *a, const void *b, void *c,
                         void *scratch)
{
    product flipped = product_flipped(p);
    if (way == CONTRACT_PLAIN) return false;
    if (way == CONTRACT_SHORT) { /* rows of the result are stored contiguously if possible */
        bool flip = p->c_n != 1 && p->c_m == 1;
        (p->tile ? product_short : product_widened)(flip ? &flipped : p, flip ? b : a, flip ? a : b,
                                                    c, scratch);
        return true;
    }
    bool flip = p->m == 1 && (p->n > 1 || p->a_k != 1); /* so that the vector is b */
    return product_short_vector(flip ? &flipped : p, flip ? b : a, flip ? a : b, c);
}

static void product_run(contract_way way, const product *p, const void *a, const void *b, void *c,
                        void *scratch)
{
    product flipped = product_flipped(p);
    if (p->type == MTF_BF16) {
        if (!product_bf16(way, p, a, b, c, scratch)) product_plain(p, a, b, c);
        return;
    }
    if (way == CONTRACT_TERMS) {
        bool flip = p->c_n != 1 || p->n == 1;
        if (product_terms(flip ? &flipped : p, flip ? b : a, flip ? a : b, c)) return;
    }
    if (way == CONTRACT_SLIM) {
        bool flip = p->n > SLIM_WIDE;
        if (product_slim(flip ? &flipped : p, flip ? b : a, flip ? a : b, c)) return;
    }
#if MTF_OWN_PRODUCTS
    if (way == CONTRACT_TILED) {
        bool flip = product_tiled_work(&flipped) < product_tiled_work(p);
        product_tiled(flip ? &flipped : p, flip ? b : a, flip ? a : b, c, scratch);
        return;
    }
#else
    (void)scratch;
#endif
    if (way == CONTRACT_PLAIN || !product_blas(p, a, b, c)) product_plain(p, a, b, c);
}

/* ---- pieces ------------------------------------------------------------------------------- */

/* In a matrix times a vector, are pieces contiguous rows along k?  (Else k has long strides.) */
static bool has_long_rows(const product *p)
{
    return p->m == 1 ? p->b_k == 1 : p->a_k == 1;
}

/* How one product is cut: `pieces` of `length` along m, or along n. */
typedef struct cutting {
    bool    along_n;
    int64_t pieces, length;
} cutting;

/* Short pieces give work to many cores; with few cores, one call computes several pieces.
 * Splitting n costs more than splitting m, so m is split unless it is much shorter. */
static cutting cutting_of(const product *p, contract_way way, int64_t batch)
{
    cutting c = {.along_n = p->n > 2 * p->m};
    int64_t extent = c.along_n ? p->n : p->m;
    c.length = extent;
    c.pieces = 1;
    if (way == CONTRACT_BATCHED || batch >= MOST_PIECES) return c;
    int64_t work = saturate_times(saturate_times(p->m, p->n), saturate_times(p->k, batch));
    if (work < PARALLEL_PRODUCT) return c;
    int64_t least = extent >= 128 ? 64 : 32;
    if (way == CONTRACT_GEMV && !has_long_rows(p)) least = 1024; /* reads parts of rows */
    c.length = ceil_div(extent, MOST_PIECES);
    c.length = round_up(c.length, least);
    c.pieces = ceil_div(extent, c.length);
    return c;
}

static int64_t offset_of(int64_t position, int nloops, const int64_t *size, const int64_t *stride)
{
    int64_t offset = 0;
    for (int l = nloops - 1; l >= 0; l--) {
        offset += position % size[l] * stride[l];
        position /= size[l];
    }
    return offset;
}

/* An instruction as products, one for each element of its batch, each split into pieces. */
typedef struct contraction {
    const instr     *instr;
    const run_state *run;
    contract_way     way;
    product          whole;
    cutting          cut;
    int64_t          batch;
} contraction;

static contraction contraction_of(const instr *i, const run_state *r)
{
    const access *a = &i->in[0], *b = &i->in[1], *c = &i->out[0];
    int           outer = i->nloops - 3, m = outer, n = outer + 1, k = outer + 2;
    contraction   t = {.instr = i, .run = r, .way = contract_way_of(i), .batch = 1};
    t.whole = (product){.type = a->type,
                        .result = c->type,
                        .m = i->size[m],
                        .n = i->size[n],
                        .k = i->size[k],
                        .a_m = a->stride[m],
                        .a_k = a->stride[k],
                        .b_k = b->stride[k],
                        .b_n = b->stride[n],
                        .c_m = c->stride[m],
                        .c_n = c->stride[n],
                        .add = i->contract.add > 0};
    if (t.way == CONTRACT_SHORT) t.whole.tile = r ? r->chosen : short_tile_here();
    for (int l = 0; l < outer; l++) t.batch *= i->size[l];
    t.cut = cutting_of(&t.whole, t.way, t.batch);
    return t;
}

/* Bytes of scratch that each thread needs. */
static size_t each_scratch_bytes(const contraction *t)
{
#if MTF_OWN_PRODUCTS
    if (t->way == CONTRACT_TILED) return product_tiled_bytes(&t->whole);
#endif
    if (t->way != CONTRACT_SHORT) return 0;
    return t->whole.tile ? product_short_bytes(&t->whole) : product_widened_bytes(&t->whole);
}

static void *scratch_of(const contraction *t, int thread)
{
    size_t each = each_scratch_bytes(t);
    return each ? (char *)t->run->scratch + (size_t)thread * each : NULL;
}

static void report_product(const run_state *r, const product *p)
{
    report_flops(r, p->m * p->n * (2 * p->k + p->add));
}

/* Computes a block of rows and columns of one product on one thread. */
static void run_block(const contraction *t, int64_t element, span rows, span cols, void *scratch)
{
    const instr  *i = t->instr;
    const access *a = &i->in[0], *b = &i->in[1], *c = &i->out[0];
    int           outer = i->nloops - 3;
    int64_t bytes = (int64_t)mtf_dtype_bytes(a->type), each = (int64_t)mtf_dtype_bytes(c->type);
    int64_t a_at = offset_of(element, outer, i->size, a->stride) + rows.begin * t->whole.a_m;
    int64_t b_at = offset_of(element, outer, i->size, b->stride) + cols.begin * t->whole.b_n;
    int64_t c_at = offset_of(element, outer, i->size, c->stride) + rows.begin * t->whole.c_m +
                   cols.begin * t->whole.c_n;
    product piece = t->whole;
    piece.m = rows.size;
    piece.n = cols.size;
    report_product(t->run, &piece);
    product_run(t->way, &piece, operand(t->run, a) + a_at * bytes,
                operand(t->run, b) + b_at * bytes, operand(t->run, c) + c_at * each, scratch);
}

/* Computes pieces first .. last-1 of one product. */
static void run_pieces(const contraction *t, int64_t element, int64_t first, int64_t last,
                       void *scratch)
{
    const product *p = &t->whole;
    int64_t        extent = t->cut.along_n ? p->n : p->m, begin = first * t->cut.length;
    int64_t        end = last * t->cut.length < extent ? last * t->cut.length : extent;
    span           cut = {begin, end - begin};
    run_block(t, element, t->cut.along_n ? (span){0, p->m} : cut,
              t->cut.along_n ? cut : (span){0, p->n}, scratch);
}

/* ---- a grid of blocks --------------------------------------------------------------------- */

/* Each BLAS call packs its block's rows of a and its columns of b.  If many threads took rows
 * alone, each would pack all of b: so they take blocks, as square as their number allows. */
enum { GRID_THREADS = 4, GRID_PRODUCT = 4 << 20, GRID_UNIT = 16 };

static bool takes_grid(const contraction *t)
{
    const product *p = &t->whole;
    return t->run->threads >= GRID_THREADS && t->batch == 1 &&
           (t->way == CONTRACT_GEMM || t->way == CONTRACT_TILED || t->way == CONTRACT_SHORT) &&
           p->m * p->n * p->k >= GRID_PRODUCT;
}

/* The number of blocks along the rows; along the columns there are as many as then suffice. */
static int grid_rows(const product *p, int threads)
{
    int     best = 1;
    int64_t least = INT64_MAX;
    for (int rows = 1; rows <= threads; rows++) {
        int64_t packed = p->m / rows + p->n / (threads / rows);
        if (threads % rows == 0 && packed < least) best = rows, least = packed;
    }
    return best;
}

/* Part k of n, in whole units. */
static span grid_part(int64_t extent, int k, int n)
{
    int64_t units = ceil_div(extent, GRID_UNIT), begin = units * k / n * GRID_UNIT;
    int64_t end = units * (k + 1) / n * GRID_UNIT;
    return (span){begin, (end < extent ? end : extent) - begin};
}

static void run_grid(const contraction *t)
{
    int threads = t->run->threads, rows = grid_rows(&t->whole, threads), cols = threads / rows;
    PARALLEL(t->run, threads)
    for (int k = 0; k < threads; k++) {
        span down = grid_part(t->whole.m, k / cols, rows);
        span along = grid_part(t->whole.n, k % cols, cols);
        if (down.size > 0 && along.size > 0) run_block(t, 0, down, along, scratch_of(t, k));
    }
}

/* ---- a sum in parts ----------------------------------------------------------------------- */

/* A matrix times a vector where k is not the contiguous dimension.  If the result were split, each
 * core would read a part of every row, with a cache miss each; so each core takes whole rows, and
 * the sums of fixed parts of k are added at the end, in their order. */
enum { SUM_PARTS = 16, LONG_SUM = 16 * SUM_PARTS };

static bool sums_in_parts(const contraction *t)
{
    const product *p = &t->whole;
    return t->way == CONTRACT_GEMV && t->batch == 1 && !has_long_rows(p) && p->k >= LONG_SUM &&
           p->m * p->n * p->k >= PARALLEL_PRODUCT;
}

size_t contract_scratch_bytes(const instr *i, size_t threads)
{
    contraction t = contraction_of(i, NULL);
    if (!sums_in_parts(&t)) return threads * each_scratch_bytes(&t);
    return (size_t)(SUM_PARTS * t.whole.m * t.whole.n) *
           mtf_dtype_bytes(dtype_compute(t.whole.type));
}

#define ADD_PARTS(suffix, element, sums)                                                           \
    static void add_parts_##suffix(int64_t n, element *c, int64_t stride, const sums *part,        \
                                   bool add)                                                       \
    {                                                                                              \
        for (int64_t first = 0; first < n; first += LANES) {                                       \
            sums    sum[LANES] = {0};                                                              \
            int64_t lanes = n - first < LANES ? n - first : LANES;                                 \
            for (int k = 0; k < SUM_PARTS; k++)                                                    \
                for (int64_t i = 0; i < lanes; i++) sum[i] += part[k * n + first + i];             \
            (add ? add_to_lanes_##suffix : store_lanes_##suffix)(c + first * stride, stride, sum,  \
                                                                 lanes);                           \
        }                                                                                          \
    }
ADD_PARTS(f32, float, float)
ADD_PARTS(f64, double, double)
ADD_PARTS(bf16, uint16_t, float)

static void run_in_parts(const contraction *t)
{
    const product *p = &t->whole;
    const access  *a = &t->instr->in[0], *b = &t->instr->in[1], *c = &t->instr->out[0];
    mtf_dtype      sums = dtype_compute(p->type);
    int64_t        bytes = (int64_t)mtf_dtype_bytes(p->type), n = p->m * p->n;
    char          *parts = t->run->scratch;
    PARALLEL(t->run, t->run->threads)
    for (int k = 0; k < SUM_PARTS; k++) {
        int64_t first = p->k * k / SUM_PARTS;
        product piece = *p;
        piece.k = p->k * (k + 1) / SUM_PARTS - first;
        piece.c_m = piece.c_n = 1;
        piece.result = sums;
        piece.add = false;
        report_product(t->run, &piece);
        product_run(t->way, &piece, operand(t->run, a) + first * p->a_k * bytes,
                    operand(t->run, b) + first * p->b_k * bytes,
                    parts + k * n * (int64_t)mtf_dtype_bytes(sums), NULL);
    }
    int64_t stride = p->m == 1 ? p->c_n : p->c_m;
    if (p->add) report_flops(t->run, n);
    if (p->result == MTF_BF16)
        add_parts_bf16(n, (uint16_t *)(void *)operand(t->run, c), stride, (float *)(void *)parts,
                       p->add);
    else if (p->result == MTF_F32)
        add_parts_f32(n, (float *)(void *)operand(t->run, c), stride, (float *)(void *)parts,
                      p->add);
    else
        add_parts_f64(n, (double *)(void *)operand(t->run, c), stride, (double *)(void *)parts,
                      p->add);
}

/* c[b.., m, n] = or += sum over k of a[b.., m, k] * b[b.., k, n] */
void kernel_contract(const instr *i, const run_state *r)
{
    contraction t = contraction_of(i, r);
    if (sums_in_parts(&t)) {
        run_in_parts(&t);
        return;
    }
    if (takes_grid(&t)) {
        run_grid(&t);
        return;
    }
    int64_t tasks = t.batch * t.cut.pieces, work = t.whole.m * t.whole.n * t.whole.k * t.batch;
    int64_t parts = work < PARALLEL_PRODUCT ? 1 : tasks < r->threads ? tasks : r->threads;
    PARALLEL(r, (int)parts)
    for (int64_t part = 0; part < parts; part++) {
        int64_t task = tasks * part / parts, end = tasks * (part + 1) / parts;
        while (task < end) {
            int64_t element = task / t.cut.pieces, first = task % t.cut.pieces;
            int64_t last = first + end - task < t.cut.pieces ? first + end - task : t.cut.pieces;
            run_pieces(&t, element, first, last, scratch_of(&t, (int)part));
            task += last - first;
        }
    }
}
