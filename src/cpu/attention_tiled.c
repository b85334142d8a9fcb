/* Attention in f32 with the project's own tiles, on arm64.
 *
 * A panel is the 8 rows of a tile.  The product of a tile yields scores as
 * [position][8], the layout that the next product reads: nothing is packed
 * between the two.  Keys and values are packed once for all rows of a task.
 */
#include "base/whole.h"
#include "cpu/attention_steps.h"
#include "cpu/matrix.h"
#include "cpu/matrix_tile.h"

#if MTF_OWN_PRODUCTS

#include <arm_neon.h>

#define REAL float
#define REAL_TYPE MTF_F32
#define NAME(name) name##_f32
#define LOOPS_OF attention_loops_f32
#define LOOPS_HERE (&attention_loops()->f32)
#include "cpu/attention_parts.h"

#include "cpu/attention_few.h"

enum {
    W = TILE_ROWS,
    GROUP = 12 * W /* rows whose contributions to dk and dv are summed at once */
};

/* ---- packing ---- */

/* Rows first .. first+n-1 of a batch as [n][wide], times factor, padded with 0 to a whole panel. */
static void gather_rows(const attending *t, attention_operand which, int64_t batch, int64_t first,
                        int64_t n, int64_t wide, double factor, float *to)
{
    const access *x = attending_input(t, which);
    int64_t       at = batch_offset(t, x, batch);
    for (int64_t k = 0; k < n; k++) {
        const char *from = attending_at(t, which, at + row_offset(t, x, first + k));
        strided_loader(x->type)((strided){to + k * wide, 0, 1}, (strided){(void *)from, 0, 1}, 1,
                                wide);
    }
    memset(to + n * wide, 0, (size_t)((round_up(n, W) - n) * wide) * sizeof *to);
    if (factor != 1) scale_all(n * wide, to, factor);
}

/* Packs [n][wide] as panels [wide][8]. */
static void pack_panels(const float *from, int64_t n, int64_t wide, float *to)
{
    product p = {.m = n, .k = wide, .a_m = wide, .a_k = 1};
    product_pack(&p, from, to);
}

/* Packs as [k][12] the matrix whose element (k, column) is at k * along + column * apart. */
static void pack_tiles(const float *from, int64_t k, int64_t along, int64_t columns, int64_t apart,
                       float *to)
{
    product p = {.n = columns, .k = k, .b_k = along, .b_n = apart};
    product_pack_columns(&p, from, to);
}

/* s[m][8] = sum over `deep` of rows [deep][8] times columns [deep][12], for the positions begin ..
 * end-1, rounded outwards to whole tiles. */
static void multiply(const float *rows, const float *columns, int64_t deep, int64_t begin,
                     int64_t end, float *s)
{
    for (int64_t m = begin / TILE_COLS * TILE_COLS; m < end; m += TILE_COLS)
        matrix_tile_f32(deep, rows, columns + m * deep, s + m * W, W);
}

/* ---- forward ---- */

typedef struct forward_room {
    float *q, *o, *top, *sum; /* of all rows of the task, panel by panel */
    float *natural, *k, *v, *s, *keys, *values;
} forward_room;

static int64_t forward_room_of(const attending *t, int64_t rows, float *at, forward_room *r)
{
    int64_t key = t->args->key, value = t->args->value, n = 0, all = round_up(rows, W);
    int64_t wide = key > value ? key : value;
    struct {
        float **to;
        int64_t size;
    } list[] = {{&r->q, all * key},
                {&r->o, all * round_up(value, TILE_COLS)},
                {&r->top, all},
                {&r->sum, all},
                {&r->natural, all * key},
                {&r->k, MEMORY_BLOCK * wide},
                {&r->v, MEMORY_BLOCK * wide},
                {&r->s, MEMORY_BLOCK * W},
                {&r->keys, MEMORY_BLOCK * key},
                {&r->values, MEMORY_BLOCK * round_up(value, TILE_COLS)}};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        *list[k].to = at ? at + n : NULL;
        n += round_up(list[k].size, 16);
    }
    return n;
}

size_t attention_bytes_f32(const attending *t, int64_t rows)
{
    forward_room r;
    return (size_t)forward_room_of(t, rows, NULL, &r) * sizeof(float);
}

/* o [value][8] = o * factor + the sum over n positions of weights [n][8] times values [n][12]. */
static void add_values(const float *weights, const float *values, int64_t n, int64_t deep,
                       int64_t value, const float *factor, float *o)
{
    float       tile[TILE_COLS * W];
    float32x4_t low = vld1q_f32(factor), high = vld1q_f32(factor + 4);
    for (int64_t d = 0; d < value; d += TILE_COLS) {
        matrix_tile_f32(n, weights, values + d * deep, tile, W);
        for (int64_t j = 0; j < TILE_COLS; j++) {
            float *to = o + (d + j) * W;
            vst1q_f32(to, vfmaq_f32(vld1q_f32(tile + j * W), vld1q_f32(to), low));
            vst1q_f32(to + 4, vfmaq_f32(vld1q_f32(tile + j * W + 4), vld1q_f32(to + 4), high));
        }
    }
}

static void attend_panel(const attending *t, const panel *p, const places *memory,
                         const forward_room *r, const forward_room *own)
{
    const attention_loops_f32 *loops = &attention_loops()->f32;
    span                       seen = seen_of(p, memory);
    int64_t                    skip = seen.begin - memory->first, key = t->args->key;
    float                      factor[W], *s = r->s + skip * W;
    sight                      how = sight_of(t, p, memory);
    if (!seen.size || how == SEES_NOTHING) return;
    multiply(own->q, r->keys, key, skip, skip + seen.size, r->s);
    if (attending_input(t, ATTENTION_BIAS)) add_bias(t, p, seen.begin, seen.size, s);
    if (how == SEES_SOME) hide(t, p, memory, seen, s);
    memcpy(factor, own->top, sizeof factor);
    loops->top(seen.size, W, s, own->top);
    for (int k = 0; k < W; k++) {
        factor[k] = expf(factor[k] - own->top[k]);
        own->sum[k] *= factor[k];
    }
    loops->weigh(seen.size, W, s, own->top, own->sum);
    if (t->args->dropout > 0) drop(t, p, seen.begin, seen.size, s);
    add_values(s, r->values + skip * TILE_COLS, seen.size, memory->n, t->args->value, factor,
               own->o);
}

static void finish_panel(const attending *t, const panel *p, const forward_room *own)
{
    const instr *i = t->instr;
    float        factor[W];
    if (!t->args->parts) {
        for (int64_t k = 0; k < p->n; k++) {
            bool some = own->sum[k] != 0;
            factor[k] = some ? 1 / own->sum[k] : 0;
            own->sum[k] = some ? (float)((double)own->top[k] + log((double)own->sum[k]))
                               : (float)NOTHING_SEEN;
        }
        for (int64_t k = p->n; k < W; k++) factor[k] = 0;
        attention_loops()->f32.times(t->args->value, W, own->o, factor);
    } else {
        store_rows(t, p, &i->out[2], 1, own->top);
    }
    store_rows(t, p, &i->out[0], t->args->value, own->o);
    store_rows(t, p, &i->out[1], 1, own->sum);
}

static panel panel_at(const attending *t, int64_t batch, span rows, int64_t row)
{
    panel p;
    panel_of(t, batch, rows.begin + row, rows.size - row < W ? rows.size - row : W, &p);
    p.wide = W;
    return p;
}

static forward_room room_at(const forward_room *r, const attending *t, int64_t row)
{
    forward_room own = *r;
    own.q += row * t->args->key;
    own.o += row * round_up(t->args->value, TILE_COLS);
    own.top += row;
    own.sum += row;
    return own;
}

void attention_f32(const attending *t, int64_t batch, span rows, void *scratch)
{
    forward_room r;
    places       memory;
    int64_t      key = t->args->key, value = t->args->value, all = round_up(rows.size, W);
    forward_room_of(t, rows.size, scratch, &r);
    gather_rows(t, ATTENTION_Q, batch, rows.begin, rows.size, key, t->args->scale, r.natural);
    pack_panels(r.natural, all, key, r.q);
    memset(r.o, 0, (size_t)(all * round_up(value, TILE_COLS)) * sizeof(float));
    for (int64_t k = 0; k < all; k++) r.top[k] = (float)NOTHING_SEEN, r.sum[k] = 0;
    for (int64_t first = 0; first < t->args->memory; first += MEMORY_BLOCK) {
        int64_t n = t->args->memory - first < MEMORY_BLOCK ? t->args->memory - first : MEMORY_BLOCK;
        block_of_memory k = take_memory(t, ATTENTION_K, batch, first, n, key, r.k),
                        v = take_memory(t, ATTENTION_V, batch, first, n, value, r.v);
        memory_places(t, batch, first, n, &memory);
        pack_tiles(k.at, key, 1, n, k.row, r.keys);
        pack_tiles(v.at, n, v.row, value, 1, r.values);
        for (int64_t row = 0; row < rows.size; row += W) {
            panel        p = panel_at(t, batch, rows, row);
            forward_room own = room_at(&r, t, row);
            attend_panel(t, &p, &memory, &r, &own);
        }
    }
    for (int64_t row = 0; row < rows.size; row += W) {
        panel        p = panel_at(t, batch, rows, row);
        forward_room own = room_at(&r, t, row);
        finish_panel(t, &p, &own);
    }
}

/* ---- backward ---- */

/* Of a group of rows: q and dy as rows, panels and columns; weights and slopes, panel by panel.
 * Of a block of the memory: k and v as columns of positions and of elements; dk, dv as [..][m]. */
typedef struct backward_room {
    float *natural, *q, *dy, *q_columns, *dy_columns, *weights, *slopes, *transposed;
    float *k, *v, *keys, *values, *k_columns, *dk, *dv;
} backward_room;

static int64_t backward_room_of(const attending *t, float *at, backward_room *r)
{
    int64_t key = t->args->key, value = t->args->value, n = 0, wide = key > value ? key : value;
    struct {
        float **to;
        int64_t size;
    } list[] = {{&r->natural, GROUP * wide},
                {&r->q, GROUP * key},
                {&r->dy, GROUP * value},
                {&r->q_columns, GROUP * round_up(key, TILE_COLS)},
                {&r->dy_columns, GROUP * round_up(value, TILE_COLS)},
                {&r->weights, GROUP * MEMORY_BLOCK},
                {&r->slopes, GROUP * MEMORY_BLOCK},
                {&r->transposed, GROUP * W},
                {&r->k, MEMORY_BLOCK * key},
                {&r->v, MEMORY_BLOCK * value},
                {&r->keys, MEMORY_BLOCK * key},
                {&r->values, MEMORY_BLOCK * value},
                {&r->k_columns, MEMORY_BLOCK * round_up(key, TILE_COLS)},
                {&r->dk, MEMORY_BLOCK * round_up(key, TILE_COLS)},
                {&r->dv, MEMORY_BLOCK * round_up(value, TILE_COLS)}};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        *list[k].to = at ? at + n : NULL;
        n += round_up(list[k].size, 16);
    }
    return n;
}

size_t attention_grad_bytes_f32(const attending *t)
{
    backward_room r;
    return (size_t)backward_room_of(t, NULL, &r) * sizeof(float);
}

/* dq += scale * the sum over positions of slopes [n][8] times keys [n][12]. */
static void add_queries(const attending *t, const grad_task *g, const panel *p,
                        const float *slopes_at, const float *columns, int64_t n, int64_t deep)
{
    int64_t key = t->args->key;
    float   tile[TILE_COLS * W], scale = (float)t->args->scale, *to[W];
    for (int64_t k = 0; k < p->n; k++) to[k] = row_sum(t, g, p->first + k);
    for (int64_t d = 0; d < key; d += TILE_COLS) {
        int64_t some = key - d < TILE_COLS ? key - d : TILE_COLS;
        matrix_tile_f32(n, slopes_at, columns + d * deep, tile, W);
        for (int64_t k = 0; k < p->n; k++)
            for (int64_t j = 0; j < some; j++) to[k][d + j] += scale * tile[j * W + k];
    }
}

/* to[j][i] = from[i][j]: transposes 8 by 8 elements. */
static void transpose(const float *from, float *to)
{
    for (int i = 0; i < W; i += 4)
        for (int j = 0; j < W; j += 4) {
            float32x4_t a = vld1q_f32(from + i * W + j), b = vld1q_f32(from + (i + 1) * W + j),
                        c = vld1q_f32(from + (i + 2) * W + j),
                        d = vld1q_f32(from + (i + 3) * W + j);
            float32x4x2_t even = vzipq_f32(a, c), odd = vzipq_f32(b, d);
            float32x4x2_t low = vzipq_f32(even.val[0], odd.val[0]),
                          high = vzipq_f32(even.val[1], odd.val[1]);
            vst1q_f32(to + j * W + i, low.val[0]);
            vst1q_f32(to + (j + 1) * W + i, low.val[1]);
            vst1q_f32(to + (j + 2) * W + i, high.val[0]);
            vst1q_f32(to + (j + 3) * W + i, high.val[1]);
        }
}

/* sums [wide][m] += the sum over a group's rows of `table`, panels of [m][8], times columns
 * [row][12]; for the positions begin .. end-1, rounded outwards to multiples of 8. */
static void add_memory(const float *table, int64_t panels, const float *columns, int64_t wide,
                       int64_t begin, int64_t end, float *transposed, float *sums)
{
    float   tile[TILE_COLS * W];
    int64_t rows = panels * W;
    for (int64_t m = begin / W * W; m < end; m += W) {
        for (int64_t k = 0; k < panels; k++)
            transpose(table + (k * MEMORY_BLOCK + m) * W, transposed + k * W * W);
        for (int64_t d = 0; d < wide; d += TILE_COLS) {
            matrix_tile_f32(rows, transposed, columns + d * rows, tile, W);
            for (int64_t j = 0; j < TILE_COLS; j++) {
                float *to = sums + (d + j) * MEMORY_BLOCK + m;
                vst1q_f32(to, vaddq_f32(vld1q_f32(to), vld1q_f32(tile + j * W)));
                vst1q_f32(to + 4, vaddq_f32(vld1q_f32(to + 4), vld1q_f32(tile + j * W + 4)));
            }
        }
    }
}

/* Weights and slopes of a panel for the positions that it sees; 0 for the others of `all`. */
static void panel_slopes(const attending *t, const panel *p, const places *memory, span all,
                         const float *q, const float *dy, const backward_room *r, float *weights,
                         float *slopes_at)
{
    span    seen = seen_of(p, memory);
    int64_t skip = seen.begin - memory->first, first = all.begin - memory->first,
            end = round_up(first + all.size, W);
    float lse[W] = {0}, delta[W] = {0};
    sight how = sight_of(t, p, memory);
    first = first / W * W;
    if (!seen.size || how == SEES_NOTHING) skip = end, seen.size = 0;
    memset(weights + first * W, 0, (size_t)((skip - first) * W) * sizeof(float));
    memset(slopes_at + first * W, 0, (size_t)((skip - first) * W) * sizeof(float));
    if (seen.size) {
        float *own = weights + skip * W;
        take_rows(t, ATTENTION_LSE, p, 1, lse);
        take_rows(t, ATTENTION_DELTA, p, 1, delta);
        multiply(q, r->keys, t->args->key, skip, skip + seen.size, weights);
        multiply(dy, r->values, t->args->value, skip, skip + seen.size, slopes_at);
        if (attending_input(t, ATTENTION_BIAS)) add_bias(t, p, seen.begin, seen.size, own);
        if (how == SEES_SOME) hide(t, p, memory, seen, own);
        slopes(t, p, seen, lse, delta, own, slopes_at + skip * W);
        /* Tiles have also written some positions before the first one seen. */
        memset(weights + first * W, 0, (size_t)((skip - first) * W) * sizeof(float));
        memset(slopes_at + first * W, 0, (size_t)((skip - first) * W) * sizeof(float));
    }
    int64_t last = skip + seen.size;
    if (last >= end) return;
    memset(weights + last * W, 0, (size_t)((end - last) * W) * sizeof(float));
    memset(slopes_at + last * W, 0, (size_t)((end - last) * W) * sizeof(float));
}

/* Rows that a panel lacks contribute 0. */
static void clear_missing(const panel *p, int64_t first, int64_t end, float *table)
{
    for (int64_t m = first; m < end && p->n < W; m++)
        for (int64_t k = p->n; k < W; k++) table[m * W + k] = 0;
}

/* Adds the gradients of a group of rows and a block of the memory. */
static void grad_group(const attending *t, const grad_task *g, int64_t first, int64_t n,
                       const places *memory, const backward_room *r)
{
    int64_t key = t->args->key, value = t->args->value, panels = round_up(n, W) / W;
    span    rows = {first, n}, all = {0};
    panel   list[GROUP / W];
    for (int64_t k = 0; k < panels; k++) {
        list[k] = panel_at(t, g->batch, rows, k * W);
        span seen = seen_of(&list[k], memory);
        if (!seen.size || sight_of(t, &list[k], memory) == SEES_NOTHING) continue;
        int64_t begin = all.size && all.begin < seen.begin ? all.begin : seen.begin;
        int64_t end = all.begin + all.size > seen.begin + seen.size ? all.begin + all.size
                                                                    : seen.begin + seen.size;
        all = (span){begin, end - begin};
    }
    if (!all.size) return;
    int64_t begin = all.begin - memory->first, end = begin + all.size;
    gather_rows(t, ATTENTION_Q, g->batch, first, n, key, t->args->scale, r->natural);
    pack_panels(r->natural, panels * W, key, r->q);
    if (g->of_memory) pack_tiles(r->natural, panels * W, key, key, 1, r->q_columns);
    gather_rows(t, ATTENTION_DY, g->batch, first, n, value, 1, r->natural);
    pack_panels(r->natural, panels * W, value, r->dy);
    if (g->of_memory) pack_tiles(r->natural, panels * W, value, value, 1, r->dy_columns);
    for (int64_t k = 0; k < panels; k++) {
        float *weights = r->weights + k * W * MEMORY_BLOCK, *own = r->slopes + k * W * MEMORY_BLOCK;
        panel_slopes(t, &list[k], memory, all, r->q + k * W * key, r->dy + k * W * value, r,
                     weights, own);
        clear_missing(&list[k], begin / W * W, round_up(end, W), weights);
        clear_missing(&list[k], begin / W * W, round_up(end, W), own);
        span    seen = seen_of(&list[k], memory);
        int64_t skip = seen.begin - memory->first;
        if (g->of_rows && seen.size && sight_of(t, &list[k], memory) != SEES_NOTHING)
            add_queries(t, g, &list[k], own + skip * W, r->k_columns + skip * TILE_COLS, seen.size,
                        memory->n);
        if (g->of_memory && t->instr->nout > 3) add_bias_grad(t, &list[k], all, own + begin * W);
    }
    if (!g->of_memory) return;
    add_memory(r->weights, panels, r->dy_columns, value, begin, end, r->transposed, r->dv);
    add_memory(r->slopes, panels, r->q_columns, key, begin, end, r->transposed, r->dk);
}

void attention_grad_f32(const attending *t, const grad_task *g, void *scratch)
{
    backward_room r;
    places        memory;
    int64_t last = g->memory.begin + g->memory.size, key = t->args->key, value = t->args->value;
    backward_room_of(t, scratch, &r);
    for (int64_t first = g->memory.begin; first < last; first += MEMORY_BLOCK) {
        int64_t         n = last - first < MEMORY_BLOCK ? last - first : MEMORY_BLOCK;
        block_of_memory k = take_memory(t, ATTENTION_K, g->batch, first, n, key, r.k),
                        v = take_memory(t, ATTENTION_V, g->batch, first, n, value, r.v);
        memory_places(t, g->batch, first, n, &memory);
        pack_tiles(k.at, key, 1, n, k.row, r.keys);
        pack_tiles(v.at, value, 1, n, v.row, r.values);
        if (g->of_rows) pack_tiles(k.at, n, k.row, key, 1, r.k_columns);
        memset(r.dk, 0, (size_t)(MEMORY_BLOCK * round_up(key, TILE_COLS)) * sizeof(float));
        memset(r.dv, 0, (size_t)(MEMORY_BLOCK * round_up(value, TILE_COLS)) * sizeof(float));
        for (int64_t row = 0; row < g->rows.size; row += GROUP) {
            int64_t left = g->rows.size - row;
            grad_group(t, g, g->rows.begin + row, left < GROUP ? left : GROUP, &memory, &r);
        }
        if (!g->of_memory) continue;
        store_memory(t, g, 1, first, n, key, r.dk);
        store_memory(t, g, 2, first, n, value, r.dv);
    }
}

#else
typedef int attention_by_tiles; /* C forbids an empty translation unit */
#endif
