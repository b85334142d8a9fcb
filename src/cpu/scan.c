/* Running sums along a dimension.
 *
 * If the dimension is contiguous each line is summed alone; otherwise a tile of
 * neighbouring lines advances together.  The sum runs in the compute type and
 * is rounded only where it is stored.
 */
#include "base/dtype.h"
#include "cpu/strided.h"

enum { LINES = 1024 };

/* x[i] = the sum of x[0 .. i] and of earlier elements; exclusive: without x[i] itself.  `line`
 * processes n numbers of one line, `front` one number of each of n lines. */
#define SCAN(suffix, T, plus)                                                                      \
    static void line_##suffix(int64_t n, void *xs, void *sum, bool exclusive)                      \
    {                                                                                              \
        T *x = xs, total = *(T *)sum;                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T before = total;                                                                      \
            total = plus(total, x[i]);                                                             \
            x[i] = exclusive ? before : total;                                                     \
        }                                                                                          \
        *(T *)sum = total;                                                                         \
    }                                                                                              \
    static void front_##suffix(int64_t n, void *xs, void *sums, bool exclusive)                    \
    {                                                                                              \
        T *x = xs, *sum = sums;                                                                    \
        INDEPENDENT                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T before = sum[i];                                                                     \
            sum[i] = plus(before, x[i]);                                                           \
            x[i] = exclusive ? before : sum[i];                                                    \
        }                                                                                          \
    }

#define PLUS(x, y) ((x) + (y))
#define PLUS_I32(x, y) (int32_t)((uint32_t)(x) + (uint32_t)(y))
#define PLUS_I64(x, y) (int64_t)((uint64_t)(x) + (uint64_t)(y))
#define EITHER(x, y) (uint8_t)((x) | (y))
SCAN(f32, float, PLUS)
SCAN(f64, double, PLUS)
SCAN(i32, int32_t, PLUS_I32)
SCAN(i64, int64_t, PLUS_I64)
SCAN(flag, uint8_t, EITHER)

typedef void scan_step(int64_t n, void *x, void *sum, bool exclusive);

static const struct {
    scan_step *line, *front;
} steps[DTYPES] = {
    [MTF_F32] = {line_f32, front_f32},    [MTF_F64] = {line_f64, front_f64},
    [MTF_I32] = {line_i32, front_i32},    [MTF_I64] = {line_i64, front_i64},
    [MTF_BOOL] = {line_flag, front_flag},
};

typedef struct scanning {
    const instr *instr;
    char        *out, *in; /* of the first element in scanning order */
    int64_t      in_step, out_step;
    int64_t      in_bytes, out_bytes;
    nest         nest; /* the lines */
} scanning;

/* One line, a buffer of elements at a time. */
static void scan_line(const scanning *s, int64_t in, int64_t out)
{
    const access *from = &s->instr->in[0], *to = &s->instr->out[0];
    number        tile[LINES], sum = {.i64 = 0}; /* zero in every type */
    for (int64_t at = 0; at < s->instr->scan.along; at += LINES) {
        int64_t left = s->instr->scan.along - at, n = left < LINES ? left : LINES;
        strided_loader(from->type)(
            (strided){tile, 0, 1},
            (strided){s->in + (in + at * s->in_step) * s->in_bytes, 0, s->in_step}, 1, n);
        steps[dtype_compute(from->type)].line(n, tile, &sum, s->instr->scan.exclusive);
        strided_storer(to->type)(
            (strided){s->out + (out + at * s->out_step) * s->out_bytes, 0, s->out_step},
            (strided){tile, 0, 1}, 1, n);
    }
}

/* Lines first .. first+n-1 together, n at most LINES. */
static void scan_front(const scanning *s, int64_t first, int64_t n)
{
    const access *from = &s->instr->in[0], *to = &s->instr->out[0];
    number        tile[LINES], sums[LINES];
    walk          w = walk_at(&s->nest, first, n);
    memset(sums, 0, sizeof sums); /* zero in every type */
    for (int64_t at = 0; at < s->instr->scan.along; at++) {
        tile_load(w, from, s->in + at * s->in_step * s->in_bytes, tile);
        steps[dtype_compute(from->type)].front(n, tile, sums, s->instr->scan.exclusive);
        tile_store(w, to, s->out + at * s->out_step * s->out_bytes, tile);
    }
}

static void scan_range(const scanning *s, int64_t first, int64_t last)
{
    const access *from = &s->instr->in[0], *to = &s->instr->out[0];
    bool          along = s->in_step == 1 || s->in_step == -1 || s->nest.elements == 1;
    if (!along) {
        for (; first < last; first += LINES)
            scan_front(s, first, last - first < LINES ? last - first : LINES);
        return;
    }
    for (walk w = walk_at(&s->nest, first, last - first); w.left > 0; walk_on(&w)) {
        int64_t in = walk_offset(&w, from), out = walk_offset(&w, to);
        for (int64_t r = 0; r < w.rows; r++)
            for (int64_t c = 0; c < w.count; c++)
                scan_line(
                    s, in + r * nest_stride(&s->nest, from, 1) + c * nest_stride(&s->nest, from, 0),
                    out + r * nest_stride(&s->nest, to, 1) + c * nest_stride(&s->nest, to, 0));
    }
}

/* out[i, k] = sum of in[i, j] over j <= k (exclusive: j < k; reverse: j >= k, j > k) */
void kernel_scan(const instr *i, const run_state *r)
{
    const scan_args *how = &i->scan;
    scanning         s = {.instr = i, .in_step = how->in_stride, .out_step = how->out_stride};
    s.in_bytes = (int64_t)mtf_dtype_bytes(i->in[0].type);
    s.out_bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    s.in = operand(r, &i->in[0]);
    s.out = operand(r, &i->out[0]);
    s.nest = nest_of(i, loops_between(0, i->nloops), &i->in[0], 0);
    if (s.nest.elements * how->along == 0) return;
    if (how->reverse) {
        s.in += (how->along - 1) * s.in_step * s.in_bytes;
        s.out += (how->along - 1) * s.out_step * s.out_bytes;
        s.in_step = -s.in_step;
        s.out_step = -s.out_step;
    }
    int parts = work_parts(r, s.nest.elements * how->along, s.nest.elements);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++) {
        int64_t first = s.nest.elements * part / parts, last = s.nest.elements * (part + 1) / parts;
        scan_range(&s, first, last);
        report_flops(r, (last - first) * how->along);
    }
}
