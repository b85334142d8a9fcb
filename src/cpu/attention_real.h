/* Attention in one compute type: REAL.
 *
 * Included by attention_f32.c and attention_f64.c; names end in the type.
 * Tables are [positions][w] or [elements][w]; the w rows of a panel are
 * contiguous.
 */
#include <cblas.h>

#include "cpu/attention_parts.h"

/* s[m][w] = q k + bias, minus infinity where the row does not see the position. */
static void scores(const attending *t, const panel *p, const REAL *q, const block_of_memory *k,
                   const places *memory, span seen, REAL *s)
{
    int64_t w = p->wide;
    GEMM(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)seen.size, (int)w, (int)t->args->key, 1,
         k->at + (seen.begin - memory->first) * k->row, (int)k->row, q, (int)w, 0, s, (int)w);
    if (attending_input(t, ATTENTION_BIAS)) add_bias(t, p, seen.begin, seen.size, s);
    if (sight_of(t, p, memory) == SEES_SOME) hide(t, p, memory, seen, s);
}

/* ---- forward ---- */

/* Partial results of a task's rows, panel by panel: q and o are [..][w], top and sum [w]. */
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

/* Adds what one block of the memory contributes to one panel. */
static void attend_block(const attending *t, const panel *p, const sums *at, const places *memory,
                         const block_of_memory *k, const block_of_memory *v, REAL *s)
{
    const LOOPS_OF *loops = LOOPS_HERE;
    span            seen = seen_of(p, memory);
    REAL            before[PANEL_ROWS];
    int64_t         w = p->n, value = t->args->value, skip = seen.begin - memory->first;
    if (!seen.size || sight_of(t, p, memory) == SEES_NOTHING) return;
    scores(t, p, at->q, k, memory, seen, s);
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

static void finish_rows(const attending *t, const panel *p, sums *at)
{
    const instr *i = t->instr;
    int64_t      w = p->n;
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
    REAL *rest;
    sums  all = sums_at(t, scratch, rows.size, &rest);
    REAL *k_room = rest, *v_room = k_room + MEMORY_BLOCK * t->args->key,
         *s = v_room + MEMORY_BLOCK * t->args->value;
    panel  p;
    places memory;
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
        memory_places(t, batch, first, n, &memory);
        for (int64_t r = 0; r < rows.size; r += PANEL_ROWS) {
            int64_t w = rows.size - r < PANEL_ROWS ? rows.size - r : PANEL_ROWS;
            sums    at = sums_of(&all, t, r);
            panel_of(t, batch, rows.begin + r, w, &p);
            attend_block(t, &p, &at, &memory, &k, &v, s);
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

/* Working space: q, dy, dq [..][w] of a panel, and its tables of weights and slopes [m][w]; k, v of
 * the memory block, and its dk, dv as [..][m]. */
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

/* Adds scale * dq, with dq as [key][w], to the rows. */
static void add_rows(const attending *t, const grad_task *g, const panel *p, const REAL *dq)
{
    int64_t w = p->wide;
    REAL    scale = (REAL)t->args->scale;
    for (int64_t k = 0; k < p->n; k++) {
        REAL *to = row_sum(t, g, p->first + k);
        for (int64_t d = 0; d < t->args->key; d++) to[d] += scale * dq[d * w + k];
    }
}

static void grad_block(const attending *t, const grad_task *g, const panel *p, const places *memory,
                       const block_of_memory *k, const block_of_memory *v, const grad_room *r)
{
    int64_t key = t->args->key, value = t->args->value, w = p->n;
    span    seen = seen_of(p, memory);
    int64_t skip = seen.begin - memory->first;
    REAL    lse[PANEL_ROWS], delta[PANEL_ROWS];
    if (!seen.size || sight_of(t, p, memory) == SEES_NOTHING) return;
    take_rows(t, ATTENTION_Q, p, key, r->q);
    scale_all(w * key, r->q, t->args->scale);
    take_rows(t, ATTENTION_DY, p, value, r->dy);
    take_rows(t, ATTENTION_LSE, p, 1, lse);
    take_rows(t, ATTENTION_DELTA, p, 1, delta);
    scores(t, p, r->q, k, memory, seen, r->p);
    GEMM(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)seen.size, (int)w, (int)value, 1,
         v->at + skip * v->row, (int)v->row, r->dy, (int)w, 0, r->slope, (int)w);
    slopes(t, p, seen, lse, delta, r->p, r->slope);
    if (g->of_memory) {
        GEMM(CblasRowMajor, CblasNoTrans, CblasTrans, (int)value, (int)seen.size, (int)w, 1, r->dy,
             (int)w, r->p, (int)w, 1, r->dv + skip, MEMORY_BLOCK);
        GEMM(CblasRowMajor, CblasNoTrans, CblasTrans, (int)key, (int)seen.size, (int)w, 1, r->q,
             (int)w, r->slope, (int)w, 1, r->dk + skip, MEMORY_BLOCK);
        if (t->instr->nout > 3) add_bias_grad(t, p, seen, r->slope);
    }
    if (!g->of_rows) return;
    GEMM(CblasRowMajor, CblasTrans, CblasNoTrans, (int)key, (int)w, (int)seen.size, 1,
         k->at + skip * k->row, (int)k->row, r->slope, (int)w, 0, r->dq, (int)w);
    add_rows(t, g, p, r->dq);
}

void NAME(attention_grad)(const attending *t, const grad_task *g, void *scratch)
{
    grad_room r;
    int64_t   end = g->memory.begin + g->memory.size, key = t->args->key, value = t->args->value;
    panel     p;
    places    memory;
    room_of(t, scratch, &r);
    for (int64_t first = g->memory.begin; first < end; first += MEMORY_BLOCK) {
        int64_t         n = end - first < MEMORY_BLOCK ? end - first : MEMORY_BLOCK;
        block_of_memory k = take_memory(t, ATTENTION_K, g->batch, first, n, key, r.k),
                        v = take_memory(t, ATTENTION_V, g->batch, first, n, value, r.v);
        memory_places(t, g->batch, first, n, &memory);
        memset(r.dk, 0, (size_t)(key * MEMORY_BLOCK) * sizeof(REAL));
        memset(r.dv, 0, (size_t)(value * MEMORY_BLOCK) * sizeof(REAL));
        for (int64_t row = 0; row < g->rows.size; row += PANEL_ROWS) {
            int64_t left = g->rows.size - row;
            panel_of(t, g->batch, g->rows.begin + row, left < PANEL_ROWS ? left : PANEL_ROWS, &p);
            grad_block(t, g, &p, &memory, &k, &v, &r);
        }
        if (!g->of_memory) continue;
        store_memory(t, g, 1, first, n, key, r.dk);
        store_memory(t, g, 2, first, n, value, r.dv);
    }
}
