/* Attention in one compute type: REAL, with names that end in it.
 *
 * Included by attention_f32.c and attention_f64.c.  Tables are [positions][w] or
 * [elements][w], w rows of a panel side by side.
 */
#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "machine/kernels/attention.h"
#include "machine/kernels/strided.h"

/* Some positions of k or v: where they are if they can be multiplied there, else a copy. */
typedef struct block_of_memory {
    const REAL *at;
    int64_t     row; /* from one position to the next */
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

/* to[element][w] = the rows' elements. */
static void take_rows(const attending *t, attention_operand which, const panel *p, int64_t wide,
                      REAL *to)
{
    const access *x = attending_input(t, which);
    int64_t       at = batch_offset(t, x, p->batch), w = p->rows.n;
    for (int64_t k = 0; k < w; k++) {
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
    int64_t       step = t->args->step[ATTENTION_BIAS], w = p->rows.n;
    REAL          line[MEMORY_BLOCK];
    for (int64_t k = 0; k < w; k++) {
        const char *from = attending_at(t, ATTENTION_BIAS, p->bias[k] + first * step);
        strided_loader(x->type)((strided){line, 0, 1}, (strided){(void *)from, 0, step}, 1, n);
        for (int64_t m = 0; m < n; m++) s[m * w + k] += line[m];
    }
}

static void hide(const attending *t, const panel *p, const places *memory, REAL *s)
{
    int64_t w = p->rows.n;
    for (int64_t m = 0; m < memory->n; m++)
        for (int64_t k = 0; k < w; k++)
            s[m * w + k] = sees(t, p, k, memory, m) ? s[m * w + k] : (REAL)-INFINITY;
}

static void drop(const attending *t, const panel *p, int64_t first, int64_t n, REAL *x)
{
    double  factor[MEMORY_BLOCK];
    int64_t w = p->rows.n;
    for (int64_t k = 0; k < w; k++) {
        dropout_factors(t, p, k, first, n, factor);
        for (int64_t m = 0; m < n; m++) x[m * w + k] *= (REAL)factor[m];
    }
}

/* s[m][w] = q k + bias, minus infinity where nothing is seen; false: none is. */
static bool scores(const attending *t, const panel *p, const REAL *q, const block_of_memory *k,
                   const places *memory, int64_t first, REAL *s)
{
    sight how = sight_of(t, p, memory);
    if (how == SEES_NOTHING) return false;
    int64_t w = p->rows.n, n = memory->n;
    GEMM(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)w, (int)t->args->key, 1, k->at,
         (int)k->row, q, (int)w, 0, s, (int)w);
    if (attending_input(t, ATTENTION_BIAS)) add_bias(t, p, first, n, s);
    if (how == SEES_SOME) hide(t, p, memory, s);
    return true;
}

/* The positions of a block that the panel can see by index; size 0: none. */
static span seen_of(const panel *p, int64_t first, int64_t n)
{
    int64_t begin = p->seen.begin > first ? p->seen.begin : first;
    int64_t seen = p->seen.begin + p->seen.size, end = seen < first + n ? seen : first + n;
    return (span){begin, end > begin ? end - begin : 0};
}

/* ---- forward ---- */

/* What is known of a task's rows so far, panel by panel: [value][w], and for each row. */
typedef struct sums {
    REAL *q, *o, *top, *sum;
} sums;

static sums sums_at(const attending *t, char *scratch, int64_t rows, REAL **rest)
{
    sums s = {.q = (REAL *)(void *)scratch};
    s.o = s.q + rows * t->args->key;
    s.top = s.o + rows * t->args->value;
    s.sum = s.top + rows;
    *rest = s.sum + rows;
    return s;
}

size_t NAME(attention_bytes)(const attending *t, int64_t rows)
{
    int64_t each = t->args->key + t->args->value;
    int64_t w = t->rows < PANEL_ROWS ? t->rows : PANEL_ROWS;
    return (size_t)(rows * (each + 2) + MEMORY_BLOCK * (each + w)) * sizeof(REAL);
}

/* One panel meets one block of the memory. */
static void attend_block(const attending *t, const panel *p, const sums *at, int64_t first,
                         int64_t n, const block_of_memory *k, const block_of_memory *v, REAL *s)
{
    const LOOPS_OF *loops = LOOPS_HERE;
    span            seen = seen_of(p, first, n);
    places          memory;
    REAL            before[PANEL_ROWS];
    int64_t         w = p->rows.n, value = t->args->value, skip = seen.begin - first;
    if (!seen.size) return;
    memory_places(t, p->batch, seen.begin, seen.size, &memory);
    block_of_memory keys = {k->at + skip * k->row, k->row};
    if (!scores(t, p, at->q, &keys, &memory, seen.begin, s)) return;
    memcpy(before, at->top, (size_t)w * sizeof *before);
    loops->top(seen.size, w, s, at->top);
    for (int64_t r = 0; r < w; r++) {
        before[r] = (REAL)exp((double)(before[r] - at->top[r]));
        at->sum[r] *= before[r];
    }
    loops->weigh(seen.size, w, s, at->top, at->sum);
    if (t->args->dropout > 0) drop(t, p, seen.begin, seen.size, s);
    loops->times(value, w, at->o, before);
    GEMM(CblasRowMajor, CblasTrans, CblasNoTrans, (int)value, (int)w, (int)seen.size, 1,
         v->at + skip * v->row, (int)v->row, s, (int)w, 1, at->o, (int)w);
}

static void store_rows(const attending *t, const panel *p, const access *out, int64_t wide,
                       REAL *from)
{
    int64_t at = batch_offset(t, out, p->batch), w = p->rows.n;
    for (int64_t k = 0; k < w; k++) {
        char *to = operand(t->run, out) + (at + row_offset(t, out, p->first + k)) *
                                              (int64_t)mtf_dtype_bytes(out->type);
        strided_storer(out->type)((strided){to, 0, 1}, (strided){from + k, 0, w}, 1, wide);
    }
}

static void finish_rows(const attending *t, const panel *p, sums *at)
{
    const instr *i = t->instr;
    int64_t      w = p->rows.n;
    REAL         factor[PANEL_ROWS];
    if (!t->args->parts) {
        for (int64_t r = 0; r < w; r++) {
            bool some = at->sum[r] != 0;
            factor[r] = some ? 1 / at->sum[r] : 0;
            at->sum[r] =
                some ? (REAL)((double)at->top[r] + log((double)at->sum[r])) : (REAL)NOTHING_SEEN;
        }
        LOOPS_HERE->times(t->args->value, w, at->o, factor);
    } else {
        store_rows(t, p, &i->out[2], 1, at->top);
    }
    store_rows(t, p, &i->out[0], t->args->value, at->o);
    store_rows(t, p, &i->out[1], 1, at->sum);
}

static sums sums_of(const sums *all, const attending *t, int64_t row)
{
    return (sums){all->q + row * t->args->key, all->o + row * t->args->value, all->top + row,
                  all->sum + row};
}

void NAME(attention)(const attending *t, int64_t batch, span rows, void *scratch)
{
    REAL  *rest;
    sums   all = sums_at(t, scratch, rows.size, &rest);
    REAL  *k_room = rest, *v_room = k_room + MEMORY_BLOCK * t->args->key,
         *s = v_room + MEMORY_BLOCK * t->args->value;
    panel p;
    for (int64_t r = 0; r < rows.size; r += PANEL_ROWS) {
        int64_t w = rows.size - r < PANEL_ROWS ? rows.size - r : PANEL_ROWS;
        sums    at = sums_of(&all, t, r);
        panel_of(t, batch, rows.begin + r, w, &p);
        take_rows(t, ATTENTION_Q, &p, t->args->key, at.q);
        scale_all(w * t->args->key, at.q, t->args->scale);
        memset(at.o, 0, (size_t)(w * t->args->value) * sizeof(REAL));
        for (int64_t k = 0; k < w; k++) at.top[k] = (REAL)NOTHING_SEEN, at.sum[k] = 0;
    }
    for (int64_t first = 0; first < t->args->memory; first += MEMORY_BLOCK) {
        int64_t n = t->args->memory - first < MEMORY_BLOCK ? t->args->memory - first : MEMORY_BLOCK;
        block_of_memory k = take_memory(t, ATTENTION_K, batch, first, n, t->args->key, k_room),
                        v = take_memory(t, ATTENTION_V, batch, first, n, t->args->value, v_room);
        for (int64_t r = 0; r < rows.size; r += PANEL_ROWS) {
            int64_t w = rows.size - r < PANEL_ROWS ? rows.size - r : PANEL_ROWS;
            sums    at = sums_of(&all, t, r);
            panel_of(t, batch, rows.begin + r, w, &p);
            attend_block(t, &p, &at, first, n, &k, &v, s);
        }
    }
    for (int64_t r = 0; r < rows.size; r += PANEL_ROWS) {
        int64_t w = rows.size - r < PANEL_ROWS ? rows.size - r : PANEL_ROWS;
        sums    at = sums_of(&all, t, r);
        panel_of(t, batch, rows.begin + r, w, &p);
        finish_rows(t, &p, &at);
    }
}

/* ---- backward ---- */

/* Working space: a panel's q, dy, dq [..][w], and tables of weights and slopes [m][w]; the memory's
 * k, v, and dk, dv as [..][m]. */
typedef struct grad_room {
    REAL *q, *dy, *dq, *p, *slope, *k, *v, *dk, *dv;
} grad_room;

static int64_t room_of(const attending *t, REAL *at, grad_room *r)
{
    int64_t key = t->args->key, value = t->args->value, w = PANEL_ROWS, m = MEMORY_BLOCK, n = 0;
    struct {
        REAL  **to;
        int64_t size;
    } list[] = {{&r->q, key * w},   {&r->dy, value * w}, {&r->dq, key * w},
                {&r->p, m * w},     {&r->slope, m * w},  {&r->k, m * key},
                {&r->v, m * value}, {&r->dk, m * key},   {&r->dv, m * value}};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        *list[k].to = at ? at + n : NULL;
        n += list[k].size;
    }
    return n;
}

size_t NAME(attention_grad_bytes)(const attending *t)
{
    grad_room r;
    return (size_t)room_of(t, NULL, &r) * sizeof(REAL);
}

/* Adds dq [key][w], times scale, to the rows. */
static void add_rows(const attending *t, const panel *p, const REAL *dq)
{
    const access *out = &t->instr->out[0];
    int64_t       at = batch_offset(t, out, p->batch), w = p->rows.n;
    REAL          scale = (REAL)t->args->scale;
    for (int64_t k = 0; k < w; k++) {
        REAL *to = (REAL *)(void *)operand(t->run, out) + at + row_offset(t, out, p->first + k);
        for (int64_t d = 0; d < t->args->key; d++) to[d] += scale * dq[d * w + k];
    }
}

static void add_bias_grad(const attending *t, const panel *p, span memory, const REAL *slope)
{
    const access *out = &t->instr->out[3];
    int64_t       at = batch_offset(t, out, p->batch), w = p->rows.n, step = t->args->out_step[3];
    for (int64_t k = 0; k < w; k++) {
        REAL *to = (REAL *)(void *)operand(t->run, out) + at + row_offset(t, out, p->first + k) +
                   memory.begin * step;
        for (int64_t m = 0; m < memory.size; m++) to[m * step] += slope[m * w + k];
    }
}

static void store_memory(const attending *t, int which, int64_t batch, int64_t first, int64_t n,
                         int64_t wide, const REAL *from)
{
    const access *out = &t->instr->out[which];
    int64_t       step = t->args->out_step[which];
    REAL *to = (REAL *)(void *)operand(t->run, out) + batch_offset(t, out, batch) + first * step;
    for (int64_t m = 0; m < n; m++)
        for (int64_t d = 0; d < wide; d++) {
            REAL *x = &to[m * step + d];
            *x = t->shared > 1 ? *x + from[d * MEMORY_BLOCK + m] : from[d * MEMORY_BLOCK + m];
        }
}

/* Weights, whose dropped ones count for dv alone, and slopes: p (dp - delta). */
static void slopes(const attending *t, const panel *p, span seen, const REAL *lse,
                   const REAL *delta, const grad_room *r)
{
    const LOOPS_OF *loops = LOOPS_HERE;
    int64_t         w = p->rows.n;
    REAL            unused[PANEL_ROWS] = {0};
    loops->weigh(seen.size, w, r->p, lse, unused);
    if (t->args->dropout > 0) {
        drop(t, p, seen.begin, seen.size, r->slope);
        loops->slope(seen.size, w, r->slope, r->p, delta);
        drop(t, p, seen.begin, seen.size, r->p);
    } else {
        loops->slope(seen.size, w, r->slope, r->p, delta);
    }
}

static void grad_block(const attending *t, const grad_task *g, const panel *p, int64_t first,
                       int64_t n, const block_of_memory *k, const block_of_memory *v,
                       const grad_room *r)
{
    int64_t key = t->args->key, value = t->args->value, w = p->rows.n;
    span    seen = seen_of(p, first, n);
    int64_t skip = seen.begin - first;
    places  memory;
    REAL    lse[PANEL_ROWS], delta[PANEL_ROWS];
    if (!seen.size) return;
    memory_places(t, p->batch, seen.begin, seen.size, &memory);
    if (sight_of(t, p, &memory) == SEES_NOTHING) return;
    block_of_memory keys = {k->at + skip * k->row, k->row};
    take_rows(t, ATTENTION_Q, p, key, r->q);
    scale_all(w * key, r->q, t->args->scale);
    take_rows(t, ATTENTION_DY, p, value, r->dy);
    take_rows(t, ATTENTION_LSE, p, 1, lse);
    take_rows(t, ATTENTION_DELTA, p, 1, delta);
    scores(t, p, r->q, &keys, &memory, seen.begin, r->p);
    GEMM(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)seen.size, (int)w, (int)value, 1,
         v->at + skip * v->row, (int)v->row, r->dy, (int)w, 0, r->slope, (int)w);
    slopes(t, p, seen, lse, delta, r);
    if (g->of_memory) {
        GEMM(CblasRowMajor, CblasNoTrans, CblasTrans, (int)value, (int)seen.size, (int)w, 1, r->dy,
             (int)w, r->p, (int)w, 1, r->dv + skip, MEMORY_BLOCK);
        GEMM(CblasRowMajor, CblasNoTrans, CblasTrans, (int)key, (int)seen.size, (int)w, 1, r->q,
             (int)w, r->slope, (int)w, 1, r->dk + skip, MEMORY_BLOCK);
        if (t->instr->nout > 3) add_bias_grad(t, p, seen, r->slope);
    }
    if (!g->of_rows) return;
    GEMM(CblasRowMajor, CblasTrans, CblasNoTrans, (int)key, (int)w, (int)seen.size, 1, keys.at,
         (int)keys.row, r->slope, (int)w, 0, r->dq, (int)w);
    add_rows(t, p, r->dq);
}

void NAME(attention_grad)(const attending *t, const grad_task *g, void *scratch)
{
    grad_room r;
    int64_t   end = g->memory.begin + g->memory.size, key = t->args->key, value = t->args->value;
    panel     p;
    room_of(t, scratch, &r);
    for (int64_t first = g->memory.begin; first < end; first += MEMORY_BLOCK) {
        int64_t         n = end - first < MEMORY_BLOCK ? end - first : MEMORY_BLOCK;
        block_of_memory k = take_memory(t, ATTENTION_K, g->batch, first, n, key, r.k),
                        v = take_memory(t, ATTENTION_V, g->batch, first, n, value, r.v);
        memset(r.dk, 0, (size_t)(key * MEMORY_BLOCK) * sizeof(REAL));
        memset(r.dv, 0, (size_t)(value * MEMORY_BLOCK) * sizeof(REAL));
        for (int64_t row = 0; row < g->rows.size; row += PANEL_ROWS) {
            int64_t left = g->rows.size - row;
            panel_of(t, g->batch, g->rows.begin + row, left < PANEL_ROWS ? left : PANEL_ROWS, &p);
            grad_block(t, g, &p, first, n, &k, &v, &r);
        }
        if (!g->of_memory) continue;
        store_memory(t, 1, g->batch, first, n, key, r.dk);
        store_memory(t, 2, g->batch, first, n, value, r.dv);
    }
}
