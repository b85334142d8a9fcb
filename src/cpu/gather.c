/* Reading and writing elements at computed indices.
 *
 *     gather:   out[i.., j..] = table[i.., index[i..], j..]
 *     scatter:  out[i.., index[i..], j..] += or = data[i.., j..]
 *
 * An index outside the dimension reads zero and writes nothing.  Loops whose
 * iterations write different elements are split among threads.  A scatter's
 * other loops run in order on one thread, so sums have a fixed order and the
 * last of several writes remains.
 */
#include "cpu/arith.h"
#include "cpu/walk.h"
#include "cpu/strided.h"

/* `outer` loops, which are split among threads; `inner` index loops, which run in order; and the
 * loops of the data alone. */
typedef struct transfer {
    const instr  *instr;
    const access *data, *index; /* data: the operand without the indexed dimension */
    const access *table;        /* the operand with it */
    char         *data_at, *table_at;
    const char   *index_at;
    nest          outer, inner, each;
    strided_copy *put; /* copies or adds a block of the data, to or from the table */
} transfer;

/* Part of a transfer: a range of iterations of the outer loops and of elements of the data
 * loops. */
typedef struct share {
    int64_t first, count, each_first, each;
} share;

/* One thread's share: whole iterations if there are enough of them, else a range of the data. */
static share share_of(const transfer *t, int part, int parts)
{
    share   s = {0, t->outer.elements, 0, t->each.elements};
    bool    by_outer = t->outer.elements >= parts;
    int64_t whole = by_outer ? t->outer.elements : t->each.elements;
    int64_t first = whole * part / parts, count = whole * (part + 1) / parts - first;
    if (by_outer) {
        s.first = first;
        s.count = count;
    } else {
        s.each_first = first;
        s.each = count;
    }
    return s;
}

/* The index at an offset; -1 if it is out of range. */
static int64_t index_at(const transfer *t, int64_t offset)
{
    int64_t index = t->index->type == MTF_I64 ? ((const int64_t *)t->index_at)[offset]
                                              : ((const int32_t *)t->index_at)[offset];
    return index >= 0 && index < t->instr->gather.along ? index : -1;
}

/* Current offsets into the operands of a transfer. */
typedef struct place {
    int64_t data, index, table;
} place;

static place place_of_transfer(const transfer *t, const walk *w, place from)
{
    return (place){from.data + walk_offset(w, t->data), from.index + walk_offset(w, t->index),
                   from.table + walk_offset(w, t->table)};
}

/* What a step along a nest's loop, counted from the innermost, adds to the offsets. */
static place step_of(const transfer *t, const nest *n, int from_inside)
{
    return (place){nest_stride(n, t->data, from_inside), nest_stride(n, t->index, from_inside),
                   nest_stride(n, t->table, from_inside)};
}

static inline place place_plus(place p, place step, int64_t times)
{
    return (place){p.data + times * step.data, p.index + times * step.index,
                   p.table + times * step.table};
}

/* Called for one index: walks over the data loops. */
typedef void visit(const transfer *t, place p, const walk *each);

/* Visits the elements first .. first + count-1 of a nest, in order. */
static void visit_share(const transfer *t, const nest *n, share s, place from, visit *one,
                        const walk *each)
{
    place along = step_of(t, n, 0), across = step_of(t, n, 1);
    for (walk w = walk_at(n, s.first, s.count); w.left > 0; walk_on(&w)) {
        place start = place_of_transfer(t, &w, from);
        for (int64_t row = 0; row < w.rows; row++)
            for (int64_t k = 0; k < w.count; k++)
                one(t, place_plus(place_plus(start, across, row), along, k), each);
    }
}

/* A block of the data loops in an operand at `offset`. */
static strided block_at(const access *a, char *base, int64_t offset, const walk *w)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(a->type);
    return (strided){base + (offset + walk_offset(w, a)) * bytes, nest_stride(w->nest, a, 1),
                     nest_stride(w->nest, a, 0)};
}

/* The block after this one, in `next`; false if there is none.  (Most walks have one block and are
 * never copied.) */
static bool next_block(const walk *w, walk *next)
{
    if (w->left == w->rows * w->count) return false;
    if (next != w) *next = *w;
    walk_on(next);
    return true;
}

/* ---- gather ------------------------------------------------------------------------------- */

static void zero_block(strided to, size_t bytes, int64_t rows, int64_t count)
{
    for (int64_t r = 0; r < rows; r++) {
        char *row = (char *)to.at + r * to.row * (int64_t)bytes;
        if (to.step == 1)
            memset(row, 0, (size_t)count * bytes);
        else
            for (int64_t c = 0; c < count; c++)
                memset(row + c * to.step * (int64_t)bytes, 0, bytes);
    }
}

static void gather_one(const transfer *t, place p, const walk *each)
{
    int64_t index = index_at(t, p.index), along = t->instr->gather.along_stride;
    walk    w;
    for (bool more = each->left > 0; more; each = &w) {
        strided to = block_at(t->data, t->data_at, p.data, each);
        if (index < 0)
            zero_block(to, mtf_dtype_bytes(t->data->type), each->rows, each->count);
        else
            t->put(to, block_at(t->table, t->table_at, p.table + index * along, each), each->rows,
                   each->count);
        more = next_block(each, &w);
    }
}

/* out[i.., j..] = table[i.., index[i..], j..], zero where the index is out of range */
void kernel_gather(const instr *i, const run_state *r)
{
    const transfer t = {.instr = i,
                        .data = &i->out[0],
                        .index = &i->in[1],
                        .table = &i->in[0],
                        .data_at = operand(r, &i->out[0]),
                        .index_at = operand(r, &i->in[1]),
                        .table_at = operand(r, &i->in[0]),
                        .outer = nest_of(i, loops_between(0, i->gather.nindex), NULL, 0),
                        .each =
                            nest_of(i, loops_between(i->gather.nindex, i->nloops), &i->out[0], 0),
                        .put = strided_mover(i->out[0].type)};
    int64_t        elements = t.outer.elements * t.each.elements;
    int            parts = work_parts(r, elements,
                           t.outer.elements > t.each.elements ? t.outer.elements : t.each.elements);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++) {
        share s = share_of(&t, part, parts);
        walk  each = walk_at(&t.each, s.each_first, s.each);
        visit_share(&t, &t.outer, s, (place){0, 0, 0}, gather_one, &each);
    }
}

/* ---- scatter ------------------------------------------------------------------------------ */

/* to[r, c] += from[r, c] */
#define ADD_BLOCK(suffix, element, sum)                                                            \
    static void add_block_##suffix(strided to, strided from, int64_t rows, int64_t count)          \
    {                                                                                              \
        for (int64_t r = 0; r < rows; r++) {                                                       \
            element       *x = (element *)to.at + r * to.row;                                      \
            const element *y = (const element *)from.at + r * from.row;                            \
            if (to.step == 1 && from.step == 1)                                                    \
                for (int64_t c = 0; c < count; c++)                                                \
                    x[c] = store_##suffix(add_##suffix(load_##suffix(x[c]), load_##suffix(y[c]))); \
            else                                                                                   \
                for (int64_t c = 0; c < count; c++, x += to.step, y += from.step)                  \
                    *x = store_##suffix(add_##suffix(load_##suffix(*x), load_##suffix(*y)));       \
        }                                                                                          \
    }

EACH_ELEMENT_TYPE(ADD_BLOCK)

/* Do different positions along the output's loops, and along the indexed dimension, always mean
 * different elements? */
static bool distinct(const instr *i)
{
    int64_t stride[MAX_LOOPS + 1] = {i->gather.along_stride};
    int64_t size[MAX_LOOPS + 1] = {i->gather.along};
    int     n = 1;
    for (int l = 0; l < i->nloops; l++) {
        if (i->size[l] == 1 || i->out[0].stride[l] == 0) continue;
        stride[n] = i->out[0].stride[l];
        size[n++] = i->size[l];
    }
    return nest_distinct(n, size, stride);
}

static void scatter_one(const transfer *t, place p, const walk *each)
{
    int64_t index = index_at(t, p.index), along = t->instr->gather.along_stride;
    walk    w;
    for (bool more = index >= 0 && each->left > 0; more; each = &w) {
        t->put(block_at(t->table, t->table_at, p.table + index * along, each),
               block_at(t->data, t->data_at, p.data, each), each->rows, each->count);
        more = next_block(each, &w);
    }
}

/* One iteration of the outer loops: the loops that may write the same element run in order. */
static void scatter_outer(const transfer *t, place at, const walk *each)
{
    share all = {.count = t->inner.elements};
    visit_share(t, &t->inner, all, at, scatter_one, each);
}

/* out[i.., index[i..], j..] += or = data[i.., j..]; an index out of range is skipped */
void kernel_scatter(const instr *i, const run_state *r)
{
    static strided_copy *const add[DTYPES] = BY_ELEMENT_TYPE(add_block);
    bool                       apart = distinct(i);
    uint32_t                   outer = 0, inner = 0;
    for (int l = 0; l < i->gather.nindex; l++)
        if (apart && i->out[0].stride[l] != 0)
            outer |= (uint32_t)1 << l;
        else
            inner |= (uint32_t)1 << l;
    const transfer t = {.instr = i,
                        .data = &i->in[0],
                        .index = &i->in[1],
                        .table = &i->out[0],
                        .data_at = operand(r, &i->in[0]),
                        .index_at = operand(r, &i->in[1]),
                        .table_at = operand(r, &i->out[0]),
                        .outer = nest_of(i, outer, NULL, 0),
                        .inner = nest_of(i, inner, NULL, 0),
                        .each =
                            nest_of(i, loops_between(i->gather.nindex, i->nloops), &i->out[0], 0),
                        .put = i->gather.set ? strided_mover(i->out[0].type) : add[i->out[0].type]};
    int64_t        elements = t.outer.elements * t.inner.elements * t.each.elements;
    int64_t        limit = t.outer.elements > t.each.elements ? t.outer.elements : t.each.elements;
    int            parts = apart ? work_parts(r, elements, limit) : 1;
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++) {
        share s = share_of(&t, part, parts);
        walk  each = walk_at(&t.each, s.each_first, s.each);
        visit_share(&t, &t.outer, s, (place){0, 0, 0}, scatter_outer, &each);
        if (!i->gather.set) report_flops(r, s.count * t.inner.elements * s.each);
    }
}
