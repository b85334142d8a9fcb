/* Attention besides the products, in one compute type: REAL.
 *
 * Tables are [positions][w] or [elements][w]; the w rows of a panel are
 * contiguous.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "cpu/attention_tasks.h"
#include "cpu/strided.h"

/* Some positions of k or v: the operand itself if it can be multiplied there, else a copy. */
typedef struct block_of_memory {
    const REAL *at;
    int64_t     row; /* elements from one position to the next */
} block_of_memory;

static block_of_memory take_memory(const attending *t, attention_operand which, int64_t batch,
                                   int64_t first, int64_t n, int64_t wide, REAL *room)
{
    const access *x = attending_input(t, which);
    int64_t       step = t->args->step[which];
    const char   *from = attending_at(t, which, batch_offset(t, x, batch) + first * step);
    if (x->type == REAL_TYPE && (step >= wide || n == 1) && step <= INT_MAX) {
        block_of_memory here = {(const REAL *)(const void *)from, step >= wide ? step : wide};
        return here;
    }
    strided_loader(x->type)((strided){room, wide, 1}, (strided){(void *)from, step, 1}, n, wide);
    block_of_memory copy = {room, wide};
    return copy;
}

/* to[element][w] = the elements of the rows, transposed. */
static void take_rows(const attending *t, attention_operand which, const panel *p, int64_t wide,
                      REAL *to)
{
    const access *x = attending_input(t, which);
    int64_t       at = batch_offset(t, x, p->batch), w = p->wide;
    for (int64_t k = 0; k < p->n; k++) {
        const char *from = attending_at(t, which, at + row_offset(t, x, p->first + k));
        strided_loader(x->type)((strided){to + k, 0, w}, (strided){(void *)from, 0, 1}, 1, wide);
    }
}

static void scale_all(int64_t n, REAL *x, double factor)
{
    for (int64_t k = 0; k < n; k++) x[k] *= (REAL)factor;
}

static void add_bias(const attending *t, const panel *p, int64_t first, int64_t n, REAL *s)
{
    const access *x = attending_input(t, ATTENTION_BIAS);
    int64_t       step = t->args->step[ATTENTION_BIAS], w = p->wide;
    REAL          line[MEMORY_BLOCK];
    for (int64_t k = 0; k < p->n; k++) {
        const char *from = attending_at(t, ATTENTION_BIAS, p->bias[k] + first * step);
        strided_loader(x->type)((strided){line, 0, 1}, (strided){(void *)from, 0, step}, 1, n);
        for (int64_t m = 0; m < n; m++) s[m * w + k] += line[m];
    }
}

/* Sets the scores of positions that a row does not see to minus infinity; all rows see those in
 * `all`. */
static void hide(const attending *t, const panel *p, const places *memory, span seen, REAL *s)
{
    int64_t w = p->wide, all = p->all.begin + p->all.size;
    for (int64_t m = 0; m < seen.size; m++) {
        int64_t at = seen.begin + m;
        if (at >= p->all.begin && at < all) continue;
        for (int64_t k = 0; k < p->n; k++)
            if (!sees(t, p, k, memory, at - memory->first)) s[m * w + k] = (REAL)-INFINITY;
    }
}

static void drop(const attending *t, const panel *p, int64_t first, int64_t n, REAL *x)
{
    double  factor[MEMORY_BLOCK];
    int64_t w = p->wide;
    for (int64_t k = 0; k < p->n; k++) {
        dropout_factors(t, p, k, first, n, factor);
        for (int64_t m = 0; m < n; m++) x[m * w + k] *= (REAL)factor[m];
    }
}

static void store_rows(const attending *t, const panel *p, const access *out, int64_t wide,
                       REAL *from)
{
    int64_t at = batch_offset(t, out, p->batch), w = p->wide;
    for (int64_t k = 0; k < p->n; k++) {
        char *to = operand(t->run, out) +
                   (at + row_offset(t, out, p->first + k)) * (int64_t)mtf_dtype_bytes(out->type);
        strided_storer(out->type)((strided){to, 0, 1}, (strided){from + k, 0, w}, 1, wide);
    }
}

static void add_bias_grad(const attending *t, const panel *p, span memory, const REAL *slope)
{
    const access *out = &t->instr->out[3];
    int64_t       at = batch_offset(t, out, p->batch), w = p->wide, step = t->args->out_step[3];
    for (int64_t k = 0; k < p->n; k++) {
        REAL *to = (REAL *)(void *)operand(t->run, out) + at + row_offset(t, out, p->first + k) +
                   memory.begin * step;
        for (int64_t m = 0; m < memory.size; m++) to[m * step] += slope[m * w + k];
    }
}

/* Where dq of a row is summed. */
static REAL *row_sum(const attending *t, const grad_task *g, int64_t row)
{
    const access *out = &t->instr->out[0];
    if (g->sum[0]) return (REAL *)g->sum[0] + (row - g->rows.begin) * t->args->key;
    return (REAL *)(void *)operand(t->run, out) + batch_offset(t, out, g->batch) +
           row_offset(t, out, row);
}

/* Stores dk or dv of n positions, `from` as [wide][m], or adds it to that of the batches before. */
static void store_memory(const attending *t, const grad_task *g, int which, int64_t first,
                         int64_t n, int64_t wide, REAL *from)
{
    const access *out = &t->instr->out[which];
    int64_t       step = t->args->out_step[which];
    int64_t       at = batch_offset(t, out, g->batch) + first * step;
    if (!batches_add_up(t, which)) {
        char *to = operand(t->run, out) + at * (int64_t)mtf_dtype_bytes(out->type);
        strided_storer(out->type)((strided){to, step, 1}, (strided){from, 1, MEMORY_BLOCK}, n,
                                  wide);
        return;
    }
    REAL *to = memory_sum(t, g, which);
    if (to)
        to += first * wide, step = wide;
    else
        to = (REAL *)(void *)operand(t->run, out) + at;
    for (int64_t m = 0; m < n; m++)
        for (int64_t d = 0; d < wide; d++) to[m * step + d] += from[d * MEMORY_BLOCK + m];
}

/* Computes the weights, including dropout for dv, and the slopes p (dp - delta). */
static void slopes(const attending *t, const panel *p, span seen, const REAL *lse,
                   const REAL *delta, REAL *p_at, REAL *slope)
{
    const LOOPS_OF *loops = LOOPS_HERE;
    int64_t         w = p->wide;
    REAL            unused[PANEL_ROWS] = {0};
    loops->weigh(seen.size, w, p_at, lse, unused);
    if (t->args->dropout > 0) {
        drop(t, p, seen.begin, seen.size, slope);
        loops->slope(seen.size, w, slope, p_at, delta);
        drop(t, p, seen.begin, seen.size, p_at);
    } else {
        loops->slope(seen.size, w, slope, p_at, delta);
    }
}
