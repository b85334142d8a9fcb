/* Strided copies, and strided sums into place.
 *
 * A move is a walk with memory copies where rows are contiguous on both sides;
 * where input and output are contiguous along different loops it copies square
 * blocks, so that every cache line is used completely.  In a sum into place
 * several iterations may add to one element; loops along which they cannot are
 * found from the output's strides, and only those are split among threads.
 */
#include "base/dtype.h"
#include "base/whole.h"
#include "cpu/strided.h"

enum {
    SQUARE = 32,        /* side of a block of a transposition */
    WHOLE_ROW = 128,    /* bytes from which a row is worth a call of memmove */
    MEETING_TILE = 4096 /* elements of the output that stay in cache while rows are added */
};

/* ---- move ---- */

typedef struct moving {
    const instr *instr;
    char        *out, *in;
    int64_t      bytes; /* of an element */
    nest         nest;
    int          across; /* the loop along which the input is contiguous; -1: no transposition */
} moving;

static void move_range(const moving *m, int64_t first, int64_t elements)
{
    const access *to = &m->instr->out[0], *from = &m->instr->in[0];
    int64_t       to_row = nest_stride(&m->nest, to, 1), to_step = nest_stride(&m->nest, to, 0);
    int64_t       from_row = nest_stride(&m->nest, from, 1);
    int64_t       from_step = nest_stride(&m->nest, from, 0);
    strided_copy *copy = strided_mover(to->type);
    for (walk w = walk_at(&m->nest, first, elements); w.left > 0; walk_on(&w)) {
        char *out = m->out + walk_offset(&w, to) * m->bytes;
        char *in = m->in + walk_offset(&w, from) * m->bytes;
        if (to_step == 1 && from_step == 1 && w.count * m->bytes >= WHOLE_ROW) {
            for (int64_t r = 0; r < w.rows; r++)
                memmove(out + r * to_row * m->bytes, in + r * from_row * m->bytes,
                        (size_t)(w.count * m->bytes));
        } else {
            copy((strided){out, to_row, to_step}, (strided){in, from_row, from_step}, w.rows,
                 w.count);
        }
    }
}

/* out[r, c] = in[r, c], where in is contiguous along r and out along c.  It uses a buffer [c, r] so
 * that memory is accessed along rows only; its odd row length avoids cache conflicts. */
static void move_square(strided to, strided from, int64_t high, int64_t wide, mtf_dtype type)
{
    number        room[SQUARE * (SQUARE + 1)];
    strided_copy *move = strided_mover(type);
    move((strided){room, SQUARE + 1, 1}, (strided){from.at, from.step, from.row}, wide, high);
    move(to, (strided){room, 1, SQUARE + 1}, high, wide);
}

/* One band of SQUARE values of r, square by square.  `band` is a number over all combinations of
 * the other loops. */
static void move_band(const moving *m, int64_t band)
{
    const nest   *n = &m->nest;
    const access *to = &m->instr->out[0], *from = &m->instr->in[0];
    int           along = n->nloops - 1;
    int64_t       rows = n->size[m->across], columns = n->size[along];
    int64_t       bands = ceil_div(rows, SQUARE), r0 = band % bands * SQUARE;
    int64_t       to_r = to->stride[n->loop[m->across]], from_r = from->stride[n->loop[m->across]];
    int64_t       to_c = to->stride[n->loop[along]], from_c = from->stride[n->loop[along]];
    int64_t       out = r0 * to_r, in = r0 * from_r, high = rows - r0 < SQUARE ? rows - r0 : SQUARE;

    band /= bands;
    for (int k = along - 1; k >= 0; k--) {
        if (k == m->across) continue;
        out += band % n->size[k] * to->stride[n->loop[k]];
        in += band % n->size[k] * from->stride[n->loop[k]];
        band /= n->size[k];
    }
    for (int64_t c0 = 0; c0 < columns; c0 += SQUARE) {
        int64_t wide = columns - c0 < SQUARE ? columns - c0 : SQUARE;
        move_square((strided){m->out + (out + c0 * to_c) * m->bytes, to_r, to_c},
                    (strided){m->in + (in + c0 * from_c) * m->bytes, from_r, from_c}, high, wide,
                    to->type);
    }
}

/* The loop along which the input is contiguous, if it is not the innermost and both are long enough
 * for squares to pay off. */
static int across_loop(const nest *n, const access *from)
{
    int last = n->nloops - 1;
    if (last < 1 || from->stride[n->loop[last]] == 1 || n->size[last] < 8) return -1;
    for (int k = 0; k < last; k++)
        if (from->stride[n->loop[k]] == 1 && n->size[k] >= 8) return k;
    return -1;
}

/* out[i] = in[i] */
void kernel_move(const instr *i, const run_state *r)
{
    moving m = {.instr = i, .out = operand(r, &i->out[0]), .in = operand(r, &i->in[0])};
    m.bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    m.nest = nest_of(i, loops_between(0, i->nloops), &i->out[0], 0);
    m.across = across_loop(&m.nest, &i->in[0]);
    if (m.nest.elements == 0) return;

    int64_t units = m.nest.elements;
    if (m.across >= 0) {
        int64_t rows = m.nest.size[m.across];
        units = m.nest.elements / rows / nest_inner(&m.nest) * ceil_div(rows, SQUARE);
    }
    int parts = work_parts(r, m.nest.elements, units);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++) {
        int64_t first = units * part / parts, last = units * (part + 1) / parts;
        if (m.across < 0)
            move_range(&m, first, last - first);
        else
            for (int64_t band = first; band < last; band++) move_band(&m, band);
    }
}

/* ---- add into ---- */

#define SAME(v) v
#define PLUS(x, y) ((x) + (y))
#define PLUS_I32(x, y) (int32_t)((uint32_t)(x) + (uint32_t)(y))
#define PLUS_I64(x, y) (int64_t)((uint64_t)(x) + (uint64_t)(y))
#define EITHER(x, y) (uint8_t)((x) | (y))

/* to[r, c] += from[r, c], rows in order, since they may overlap.  The elements of one row are
 * distinct. */
#define ADD_BLOCK(name, T, PRAGMA, widen, narrow, plus)                                            \
    static void name(strided to, strided from, int64_t rows, int64_t count)                        \
    {                                                                                              \
        for (int64_t r = 0; r < rows; r++) {                                                       \
            T       *out = (T *)to.at + r * to.row;                                                \
            const T *in = (const T *)from.at + r * from.row;                                       \
            if (to.step == 1 && from.step == 1) {                                                  \
                PRAGMA                                                                             \
                for (int64_t c = 0; c < count; c++)                                                \
                    out[c] = narrow(plus(widen(out[c]), widen(in[c])));                            \
            } else {                                                                               \
                for (int64_t c = 0; c < count; c++)                                                \
                    out[c * to.step] =                                                             \
                        narrow(plus(widen(out[c * to.step]), widen(in[c * from.step])));           \
            }                                                                                      \
        }                                                                                          \
    }

ADD_BLOCK(add_f32, float, INDEPENDENT, SAME, SAME, PLUS)
ADD_BLOCK(add_bf16, uint16_t, INDEPENDENT, bf16_to_f32, f32_to_bf16, PLUS)
ADD_BLOCK(add_f16, uint16_t, INDEPENDENT_LONG, f16_to_f32, f32_to_f16, PLUS)
ADD_BLOCK(add_f64, double, INDEPENDENT, SAME, SAME, PLUS)
ADD_BLOCK(add_i32, int32_t, INDEPENDENT, SAME, SAME, PLUS_I32)
ADD_BLOCK(add_i64, int64_t, INDEPENDENT, SAME, SAME, PLUS_I64)
ADD_BLOCK(add_flag, uint8_t, INDEPENDENT, SAME, SAME, EITHER)
ADD_BLOCK(add_f8e4m3, uint8_t, INDEPENDENT_LONG, f8e4m3_to_f32, f32_to_f8e4m3, PLUS)
ADD_BLOCK(add_f8e5m2, uint8_t, INDEPENDENT_LONG, f8e5m2_to_f32, f32_to_f8e5m2, PLUS)

static strided_copy *const adders[DTYPES] = {
    [MTF_F32] = add_f32,   [MTF_BF16] = add_bf16,     [MTF_F16] = add_f16,
    [MTF_F64] = add_f64,   [MTF_I32] = add_i32,       [MTF_I64] = add_i64,
    [MTF_BOOL] = add_flag, [MTF_F8E4M3] = add_f8e4m3, [MTF_F8E5M2] = add_f8e5m2,
};

typedef struct adding {
    const instr *instr;
    char        *out, *in;
    int64_t      bytes;
    nest         apart, meeting;
} adding;

static strided block(const adding *a, const access *side, int64_t offset, const nest *rows)
{
    char *base = side == &a->instr->out[0] ? a->out : a->in;
    return (strided){base + offset * a->bytes, nest_stride(rows, side, rows == &a->apart),
                     nest_stride(&a->apart, side, 0)};
}

/* Adds everything that belongs to `count` output elements of one row of `apart`. */
static void add_meeting(const adding *a, int64_t out, int64_t in, int64_t count)
{
    const access *to = &a->instr->out[0], *from = &a->instr->in[0];
    const nest   *meeting = &a->meeting;
    for (walk w = walk_at(meeting, 0, meeting->elements); w.left > 0; walk_on(&w))
        for (int64_t r = 0; r < w.rows; r++)
            adders[to->type](
                block(a, to, out + walk_offset(&w, to) + r * nest_stride(meeting, to, 1), meeting),
                block(a, from, in + walk_offset(&w, from) + r * nest_stride(meeting, from, 1),
                      meeting),
                w.count, count);
}

static void add_range(const adding *a, int64_t first, int64_t elements)
{
    const access *to = &a->instr->out[0], *from = &a->instr->in[0];
    for (walk w = walk_at(&a->apart, first, elements); w.left > 0; walk_on(&w)) {
        int64_t out = walk_offset(&w, to), in = walk_offset(&w, from);
        if (a->meeting.elements == 1) {
            adders[to->type](block(a, to, out, &a->apart), block(a, from, in, &a->apart), w.rows,
                             w.count);
            continue;
        }
        for (int64_t r = 0; r < w.rows; r++)
            add_meeting(a, out + r * nest_stride(&a->apart, to, 1),
                        in + r * nest_stride(&a->apart, from, 1), w.count);
    }
}

/* out[i] += in[i], in a fixed order if several i write one element */
void kernel_add_into(const instr *i, const run_state *r)
{
    uint32_t apart = nest_apart(i);
    adding   a = {.instr = i, .out = operand(r, &i->out[0]), .in = operand(r, &i->in[0])};
    a.bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    a.apart = nest_of(i, apart, &i->out[0], 0);
    a.meeting = nest_of(i, loops_between(0, i->nloops) & ~apart, NULL, 0);
    int64_t elements = a.apart.elements * a.meeting.elements;
    if (elements == 0) return;

    /* Threads can split the output only if the other loops never leave an output element. */
    int64_t tiles = ceil_div(a.apart.elements, MEETING_TILE);
    bool    owned = nest_repeats(&a.meeting, &i->out[0]);
    int     parts = owned ? work_parts(r, elements, tiles) : 1;
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++)
        for (int64_t t = tiles * part / parts; t < tiles * (part + 1) / parts; t++) {
            int64_t first = t * MEETING_TILE, left = a.apart.elements - first;
            int64_t count = left < MEETING_TILE ? left : MEETING_TILE;
            add_range(&a, first, count);
            report_flops(r, count * a.meeting.elements);
        }
}
