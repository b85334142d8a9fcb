/* Sorting, and the first few in sorted order.
 *
 *     values[i.., j] = in[i.., indices[i.., j]], j < k, in order
 *
 * Each element becomes an integer key with the same order: NaN above
 * everything, both zeros equal, all reversed when descending.  With the index
 * appended no two keys are equal, so any sort is stable.  The first k elements
 * are selected with a heap; whole rows of 32-bit keys are radix-sorted.
 */
#include "base/dtype.h"
#include "cpu/order_key.h"
#include "cpu/walk.h"

enum {
    SCRATCH_STEP = 4096, /* the scratch of each thread begins at a multiple of this */
    DIGIT = 8,           /* bits of a key for one radix pass */
    DIGITS = 1 << DIGIT,
    SHORT_ROW = 256 /* shorter rows use the heap */
};

typedef struct item {
    uint64_t key, index;
} item;

size_t order_scratch_bytes(const instr *i)
{
    size_t bytes = (size_t)i->order.along * sizeof(item);
    return (bytes + SCRATCH_STEP - 1) / SCRATCH_STEP * SCRATCH_STEP;
}

/* ---- keys --------------------------------------------------------------------------------- */

static uint64_t key_of_f64(double v)
{
    uint64_t bits;
    if (v != v) return UINT64_MAX;
    v += 0.0;
    memcpy(&bits, &v, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* A key with the order of the elements; all types but f64 and i64 need 32 bits. */
static uint64_t key_of(mtf_dtype type, const void *from, int64_t at)
{
    switch (type) {
    case MTF_F32: return key_of_f32(((const float *)from)[at]);
    case MTF_BF16: return key_of_f32(bf16_to_f32(((const uint16_t *)from)[at]));
    case MTF_F16: return key_of_f32(f16_to_f32(((const uint16_t *)from)[at]));
    case MTF_F64: return key_of_f64(((const double *)from)[at]);
    case MTF_I32: return ((const uint32_t *)from)[at] ^ 0x80000000u;
    case MTF_I64: return ((const uint64_t *)from)[at] ^ (uint64_t)1 << 63;
    case MTF_BOOL: return ((const uint8_t *)from)[at] != 0;
    case MTF_F8E4M3: return key_of_f32(f8e4m3_to_f32(((const uint8_t *)from)[at]));
    case MTF_F8E5M2: return key_of_f32(f8e5m2_to_f32(((const uint8_t *)from)[at]));
    }
    return 0;
}

/* ---- one row ------------------------------------------------------------------------------ */

/* A row of the input, and the addresses of its results. */
typedef struct row {
    const order_args *args;
    mtf_dtype         type;
    const char       *in;
    char             *values;
    int32_t          *indices;
} row;

static void row_put(const row *r, int64_t place, int64_t index)
{
    size_t bytes = mtf_dtype_bytes(r->type);
    memcpy(r->values + place * r->args->value_stride * (int64_t)bytes,
           r->in + index * r->args->in_stride * (int64_t)bytes, bytes);
    r->indices[place * r->args->index_stride] = (int32_t)index;
}

static bool before(item a, item b)
{
    return a.key != b.key ? a.key < b.key : a.index < b.index;
}

/* Sifts heap[at] down: every parent comes after its children in the order. */
static void sink(item *heap, int64_t size, int64_t at)
{
    item moved = heap[at];
    for (int64_t child = 2 * at + 1; child < size; child = 2 * at + 1) {
        if (child + 1 < size && before(heap[child], heap[child + 1])) child++;
        if (!before(moved, heap[child])) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* The first k elements: the heap holds the best so far, the worst of them on top.  O(n log k). */
static void row_select(const row *r, item *heap)
{
    const order_args *a = r->args;
    uint64_t          mirror = a->descending ? UINT64_MAX : 0;
    for (int64_t j = 0; j < a->k; j++)
        heap[j] = (item){key_of(r->type, r->in, j * a->in_stride) ^ mirror, (uint64_t)j};
    for (int64_t j = a->k / 2 - 1; j >= 0; j--) sink(heap, a->k, j);
    for (int64_t j = a->k; j < a->along; j++) {
        item next = {key_of(r->type, r->in, j * a->in_stride) ^ mirror, (uint64_t)j};
        if (!before(next, heap[0])) continue;
        heap[0] = next;
        sink(heap, a->k, 0);
    }
    for (int64_t size = a->k; size > 0; size--) {
        row_put(r, size - 1, (int64_t)heap[0].index);
        heap[0] = heap[size - 1];
        sink(heap, size - 1, 0);
    }
}

/* to = from, stably sorted by one digit; false if all digits are equal and nothing was moved. */
static bool sort_by_digit(uint64_t *to, const uint64_t *from, int64_t n, int shift)
{
    int64_t start[DIGITS] = {0}, sum = 0;
    for (int64_t j = 0; j < n; j++) start[from[j] >> shift & (DIGITS - 1)]++;
    if (start[from[0] >> shift & (DIGITS - 1)] == n) return false;
    for (int d = 0; d < DIGITS; d++) {
        int64_t count = start[d];
        start[d] = sum;
        sum += count;
    }
    for (int64_t j = 0; j < n; j++) to[start[from[j] >> shift & (DIGITS - 1)]++] = from[j];
    return true;
}

/* Sorts a whole row with 32-bit keys; key and index share a word.  The scratch for n items holds
 * two lists of n words. */
static void row_sort(const row *r, uint64_t *from)
{
    const order_args *a = r->args;
    uint64_t         *to = from + a->along, mirror = a->descending ? UINT32_MAX : 0;
    for (int64_t j = 0; j < a->along; j++)
        from[j] = (key_of(r->type, r->in, j * a->in_stride) ^ mirror) << 32 | (uint64_t)j;
    for (int shift = 32; shift < 64; shift += DIGIT) {
        if (!sort_by_digit(to, from, a->along, shift)) continue;
        uint64_t *swapped = from;
        from = to;
        to = swapped;
    }
    for (int64_t j = 0; j < a->k; j++) row_put(r, j, (int64_t)(from[j] & UINT32_MAX));
}

static void row_order(const row *r, void *scratch)
{
    bool words = r->type != MTF_F64 && r->type != MTF_I64;
    /* A heap of k costs about n + k log k; sorting by digits about 8 n. */
    if (words && r->args->along >= SHORT_ROW && r->args->k > r->args->along / 8)
        row_sort(r, scratch);
    else
        row_select(r, scratch);
}

/* values[i.., j] = in[i.., indices[i.., j]]: the k first of every row, in order */
void kernel_order(const instr *i, const run_state *r)
{
    const access *in = &i->in[0], *values = &i->out[0], *indices = &i->out[1];
    const nest    n = nest_of(i, loops_between(0, i->nloops), NULL, 0);
    int64_t       bytes = (int64_t)mtf_dtype_bytes(in->type);
    int           parts = work_parts(r, n.elements * i->order.along, n.elements);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++) {
        char   *scratch = (char *)r->scratch + (size_t)part * order_scratch_bytes(i);
        int64_t first = n.elements * part / parts, end = n.elements * (part + 1) / parts;
        report_flops(r, (end - first) * i->order.along * order_depth(i->order.k));
        for (walk w = walk_at(&n, first, end - first); w.left > 0; walk_on(&w))
            for (int64_t k = 0; k < w.rows * w.count; k++) {
                int64_t y = k / w.count, x = k % w.count;
                int64_t at[3] = {walk_offset(&w, in), walk_offset(&w, values),
                                 walk_offset(&w, indices)};
                at[0] += y * nest_stride(&n, in, 1) + x * nest_stride(&n, in, 0);
                at[1] += y * nest_stride(&n, values, 1) + x * nest_stride(&n, values, 0);
                at[2] += y * nest_stride(&n, indices, 1) + x * nest_stride(&n, indices, 0);
                row one = {&i->order, in->type, operand(r, in) + at[0] * bytes,
                           operand(r, values) + at[1] * bytes,
                           (int32_t *)operand(r, indices) + at[2]};
                row_order(&one, scratch);
            }
    }
}
