/* The matrix products of a program alone, by bare calls. */
#include "products.h"

#include <cblas.h>
#include <stdlib.h>

#include "bare.h"
#include "base/clock.h"
#include "plan/plan.h"
#include "program/program.h"

enum { MOST_BATCH_LOOPS = 4, TRIALS = 5 };

/* c[b.., m, n] = sum over k of a[b.., m, k] b[b.., k, n], c with adjacent elements along n */
typedef struct product {
    int          nbatch;
    int64_t      size[MOST_BATCH_LOOPS], batch;
    int64_t      a_batch[MOST_BATCH_LOOPS], b_batch[MOST_BATCH_LOOPS], c_batch[MOST_BATCH_LOOPS];
    int64_t      m, n, k;
    int64_t      a_m, a_k, b_k, b_n, c_m;
    bool         by_columns; /* threads share n, not m: tried out */
    const float *a, *b;
    float       *c;
} product;

struct products {
    program *program;
    char    *slab;
    char   **base; /* by buffer */
    product *list;
    int      count;
};

/* ---- running ---- */

/* A matrix as the library takes it: which of its strides is 1, and the other. */
typedef struct view {
    bool transposed;
    int  stride;
} view;

/* The stride must be long enough also where nothing strides. */
static view view_of(int64_t rows, int64_t columns, int64_t row, int64_t column)
{
    bool    plain = column == 1 || columns == 1;
    int64_t stride = plain ? row : column, least = plain ? columns : rows;
    return (view){!plain, (int)(stride > least ? stride : least)};
}

static void run_block(const product *p, int64_t element, span rows, span columns)
{
    const float *a = p->a + rows.begin * p->a_m, *b = p->b + columns.begin * p->b_n;
    float       *c = p->c + rows.begin * p->c_m + columns.begin;
    for (int l = p->nbatch - 1; l >= 0; l--) {
        int64_t at = element % p->size[l];
        a += at * p->a_batch[l], b += at * p->b_batch[l], c += at * p->c_batch[l];
        element /= p->size[l];
    }
    view first = view_of(p->m, p->k, p->a_m, p->a_k);
    view second = view_of(p->k, p->n, p->b_k, p->b_n);
    view result = view_of(p->m, p->n, p->c_m, 1);
    if (rows.size == 0 || columns.size == 0) return;
    cblas_sgemm(CblasRowMajor, first.transposed ? CblasTrans : CblasNoTrans,
                second.transposed ? CblasTrans : CblasNoTrans, (int)rows.size, (int)columns.size,
                (int)p->k, 1, a, first.stride, b, second.stride, 0, c, result.stride);
}

static span share(int64_t size, int parts, int part)
{
    int64_t begin = size * part / parts / 16 * 16;
    int64_t end = part + 1 == parts ? size : size * (part + 1) / parts / 16 * 16;
    return (span){begin, end - begin};
}

static void run_product(const product *p)
{
    const span rows = {0, p->m}, columns = {0, p->n};
    int        threads = limit_threads();
    if (p->batch >= threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t e = 0; e < p->batch; e++) run_block(p, e, rows, columns);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++)
        for (int64_t e = 0; e < p->batch; e++)
            run_block(p, e, p->by_columns ? rows : share(p->m, threads, t),
                      p->by_columns ? share(p->n, threads, t) : columns);
}

void products_run(void *what)
{
    const products *p = what;
    for (int i = 0; i < p->count; i++) run_product(&p->list[i]);
}

/* ---- making ---- */

static bool alike(const product *p, const product *q)
{
    return p->m == q->m && p->n == q->n && p->k == q->k && p->batch == q->batch &&
           p->a_k == q->a_k && p->b_n == q->b_n;
}

/* The faster way for threads to share it, or what was found for one before that is alike. */
static void choose_sharing(product *list, int i)
{
    product *p = &list[i];
    double   best[2] = {1e9, 1e9};
    if (p->batch >= limit_threads()) return;
    for (int k = 0; k < i; k++)
        if (alike(p, &list[k])) {
            p->by_columns = list[k].by_columns;
            return;
        }
    for (int trial = 0; trial < 2 * TRIALS; trial++) {
        p->by_columns = trial & 1;
        double begin = clock_seconds();
        run_product(p);
        double took = clock_seconds() - begin;
        if (took < best[trial & 1]) best[trial & 1] = took;
    }
    p->by_columns = best[1] < best[0];
}

static product product_of(const instr *i, char *const *base)
{
    int           m = i->nloops - 3, n = m + 1, k = m + 2;
    bool          flipped = i->out[0].stride[n] != 1 && i->size[n] > 1; /* c' = b' a' */
    const access *a = &i->in[flipped], *b = &i->in[!flipped], *c = &i->out[0];
    product       p = {.nbatch = m, .batch = 1, .k = i->size[k]};
    if (flipped) m = n, n = m - 1;
    p.m = i->size[m], p.n = i->size[n];
    p.a_m = a->stride[m], p.a_k = a->stride[k];
    p.b_k = b->stride[k], p.b_n = b->stride[n];
    p.c_m = c->stride[m];
    for (int l = 0; l < p.nbatch; l++) {
        p.size[l] = i->size[l], p.batch *= i->size[l];
        p.a_batch[l] = a->stride[l], p.b_batch[l] = b->stride[l], p.c_batch[l] = c->stride[l];
    }
    p.a = (const float *)base[a->buffer] + a->offset;
    p.b = (const float *)base[b->buffer] + b->offset;
    p.c = (float *)base[c->buffer] + c->offset;
    return p;
}

/* Written once, because unwritten pages are all one page of zeros. */
static char *make(int64_t bytes)
{
    size_t size = ((size_t)bytes + 127) / 64 * 64;
    float *memory = aligned_alloc(64, size);
    for (size_t k = 0; memory && k < size / sizeof *memory; k++) memory[k] = (float)(k % 17) / 1024;
    return (char *)memory;
}

static bool lay_out(products *p)
{
    const program *q = p->program;
    p->slab = make(q->slab_bytes);
    p->base = calloc((size_t)q->nbuffers + 1, sizeof *p->base);
    if (!p->slab || !p->base) return false;
    for (int b = 0; b < q->nbuffers; b++) {
        const buffer *x = &q->buffers[b];
        bool          variable = x->kind == BUFFER_VARIABLE;
        p->base[b] = variable ? make(x->bytes) : p->slab + x->offset;
        if (variable && !p->base[b]) return false;
    }
    return true;
}

products *products_new(mtf_graph *g, mtf_tensor *fetch)
{
    products *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->program = plan_program(g, 1, &fetch, NULL);
    if (!p->program || !lay_out(p) ||
        !(p->list = calloc((size_t)p->program->ninstrs + 1, sizeof *p->list))) {
        products_free(p);
        return NULL;
    }
    for (int k = 0; k < p->program->ninstrs; k++)
        if (p->program->instrs[k].kind == INSTR_CONTRACT)
            p->list[p->count++] = product_of(&p->program->instrs[k], p->base);
    for (int k = 0; k < p->count; k++) choose_sharing(p->list, k);
    return p;
}

void products_free(products *p)
{
    if (!p) return;
    for (int b = 0; p->base && b < p->program->nbuffers; b++)
        if (p->program->buffers[b].kind == BUFFER_VARIABLE) free(p->base[b]);
    if (p->program) program_free(p->program);
    free(p->base);
    free(p->slab);
    free(p->list);
    free(p);
}
