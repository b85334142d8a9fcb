/* Products whose rows are in groups.
 *
 *     c[b.., row, n] = sum over k of a[b.., row, k] * b[b.., group of row, n, k]
 *     c[b.., g, n, k] = sum over b.. and the rows of g of a[b.., row, k] * b[b.., row, n]
 *
 * Both are tiles (packed_tile.h).  In the first, what a group multiplies with is packed once for its rows in all
 * sequences.
 */
#include "base/whole.h"
#include "cpu/packed_tile.h"
#include "cpu/walk.h"

enum {
    CHUNK = 512, /* rows that lie together, which threads share */
    TASKS_A_THREAD = 4,
    PACKED_MOST = 1 << 17 /* elements of b that lie packed, so that they stay in the second cache */
};

/* Columns of the result that are made together; b has so many terms. */
static int64_t columns_together(int64_t terms)
{
    int64_t wide = terms > 0 ? PACKED_MOST / terms / 32 * 32 : PACKED_WIDE;
    return wide < 32 ? 32 : wide > PACKED_WIDE ? PACKED_WIDE : wide;
}

/* ---- groups ---- */

/* The instruction's last three loops, and where its operands begin. */
typedef struct grouped {
    const instr     *i;
    const run_state *r;
    int              row; /* loops row, row + 1, row + 2: the rows, n, k */
    int64_t          rows, n, k;
} grouped;

static char *place(const grouped *g, const access *x, int64_t offset)
{
    return operand(g->r, x) + offset * (int64_t)mtf_dtype_bytes(x->type);
}

static int64_t stride(const grouped *g, const access *x, int loop)
{
    return x->stride[g->row + loop];
}

/* Whatever ends hold: where group number `group` ends, given where the one before does, as rows of
 * this part. */
static int64_t end_of(const grouped *g, const int32_t *ends, int64_t group, int64_t begin)
{
    const grouped_args *how = &g->i->grouped;
    int64_t             end = (int64_t)ends[group * how->ends_stride] - how->first_row;
    if (end > g->rows) end = g->rows;
    return end > begin ? end : begin;
}

/* The rows of this part before its first group. */
static int64_t skipped(const grouped *g, const int32_t *ends)
{
    int64_t end = 0;
    for (int64_t group = 0; group < g->i->grouped.first_group; group++)
        end = end_of(g, ends, group, end);
    return end;
}

/* ---- products by group -------------------------------------------------------------------- */

/* Some columns of the result, for some of the chunks: a chunk is up to CHUNK rows in one element of the loops along
 * which b is the same. */
typedef struct stripe {
    const nest *shared;
    walk        outer;
    int64_t     column, wide, first, end;
    int64_t    *reached; /* by chunk: where the last group ended */
} stripe;

typedef struct chunk {
    walk           at;
    int64_t        first, last; /* rows */
    const int32_t *ends;
    int64_t       *reached;
} chunk;

static int64_t offset(const stripe *t, const chunk *c, const access *x)
{
    return walk_offset(&t->outer, x) + walk_offset(&c->at, x);
}

static chunk chunk_of(const grouped *g, const stripe *t, int64_t number)
{
    int64_t chunks = ceil_div(g->rows, CHUNK);
    chunk   c = {.at = walk_at(t->shared, number / chunks, 1),
                 .first = number % chunks * CHUNK,
                 .reached = t->reached + number - t->first};
    c.last = g->rows - c.first < CHUNK ? g->rows : c.first + CHUNK;
    c.ends = (const int32_t *)(const void *)place(g, &g->i->in[2], offset(t, &c, &g->i->in[2]));
    return c;
}

/* Rows [row, end) of a chunk, times what is packed; or zeros. */
static void multiply_rows(const grouped *g, const packed_space *s, const stripe *t, const chunk *c,
                          int64_t row, int64_t end, bool zeros)
{
    const access *a = &g->i->in[0], *to = &g->i->out[0];
    if (row < c->first) row = c->first;
    if (end > c->last) end = c->last;
    for (int64_t high; row < end; row += high) {
        high = end - row < PACKED_HIGH ? end - row : PACKED_HIGH;
        factor  left = {place(g, a, offset(t, c, a) + row * stride(g, a, 0)), a->type,
                        stride(g, a, 0), stride(g, a, 2)};
        int64_t at = offset(t, c, to) + row * stride(g, to, 0) + t->column * stride(g, to, 1);
        if (!zeros) packed_multiply(s, left, high, t->wide, g->k, false);
        packed_put(s, to->type, place(g, to, at), stride(g, to, 0), stride(g, to, 1), high, t->wide,
                   zeros);
    }
}

static void pack_group(const grouped *g, const packed_space *s, const stripe *t, int64_t group)
{
    const access *b = &g->i->in[1];
    int64_t       at = walk_offset(&t->outer, b) + group * g->i->grouped.group_stride;
    packed_right(s,
                 (factor){place(g, b, at + t->column * stride(g, b, 1)), b->type, stride(g, b, 2),
                          stride(g, b, 1)},
                 t->wide, g->k);
}

static void multiply_group(const grouped *g, const packed_space *s, const stripe *t, int64_t group)
{
    bool packed = false;
    for (int64_t k = t->first; k < t->end; k++) {
        chunk   c = chunk_of(g, t, k);
        int64_t row = *c.reached, end = end_of(g, c.ends, g->i->grouped.first_group + group, row);
        *c.reached = end;
        if (end <= c.first || row >= c.last || row == end) continue;
        if (!packed) pack_group(g, s, t, group);
        packed = true;
        multiply_rows(g, s, t, &c, row, end, g->k == 0);
    }
}

/* Group by group; what is before the first and after the last is zero. */
static void multiply_stripe(const grouped *g, const packed_space *s, const stripe *t)
{
    for (int64_t k = t->first; k < t->end; k++) {
        chunk c = chunk_of(g, t, k);
        *c.reached = skipped(g, c.ends);
        multiply_rows(g, s, t, &c, 0, *c.reached, true);
    }
    for (int64_t group = 0; group < g->i->grouped.groups; group++) multiply_group(g, s, t, group);
    for (int64_t k = t->first; k < t->end; k++) {
        chunk c = chunk_of(g, t, k);
        multiply_rows(g, s, t, &c, *c.reached, g->rows, true);
    }
}

/* What is packed serves all chunks of a slice: there are more than one only where there are too few stripes for all
 * threads. */
static int64_t slices_of(const run_state *r, int64_t stripes, int64_t chunks)
{
    if (stripes % r->threads == 0) return 1;
    int64_t wanted = ceil_div(TASKS_A_THREAD * r->threads, stripes);
    return wanted < chunks ? wanted : chunks;
}

static stripe stripe_of(const grouped *g, const nest *outer, const nest *shared, int64_t slices,
                        int64_t task, int64_t *reached)
{
    int64_t together = columns_together(g->k), strips = ceil_div(g->n, together);
    int64_t chunks = shared->elements * ceil_div(g->rows, CHUNK), its = task % slices;
    stripe  t = {.shared = shared,
                 .outer = walk_at(outer, task / slices / strips, 1),
                 .column = task / slices % strips * together,
                 .first = chunks * its / slices,
                 .end = chunks * (its + 1) / slices,
                 .reached = reached};
    t.wide = g->n - t.column < together ? g->n - t.column : together;
    return t;
}

/* ---- sums of groups ----------------------------------------------------------------------- */

/* tile += the products of all terms, a stretch at a time. */
static void add_terms(const packed_space *s, factor a, factor b, int64_t high, int64_t wide,
                      int64_t depth, bool add)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(a.type), some;
    for (int64_t l = 0; l < depth; l += some) {
        some = depth - l < PACKED_DEEP ? depth - l : PACKED_DEEP;
        packed_right(s, b, wide, some);
        packed_multiply(s, a, high, wide, some, add || l > 0);
        a.at += some * a.along * bytes;
        b.at += some * b.down * bytes;
    }
}

/* Adds the rows of a group in one element of the summed loops; returns whether there were any. */
static bool add_group(const grouped *g, const packed_space *s, const walk *kept, const walk *summed,
                      int64_t group, int64_t k, int64_t high, int64_t column, int64_t wide,
                      bool add)
{
    const access  *a = &g->i->in[0], *b = &g->i->in[1], *x = &g->i->in[2];
    int64_t        ends_at = walk_offset(kept, x) + walk_offset(summed, x);
    const int32_t *ends = (const int32_t *)(const void *)place(g, x, ends_at);
    int64_t        row = skipped(g, ends), end = row;
    for (int64_t other = 0; other <= group; other++) {
        row = end;
        end = end_of(g, ends, g->i->grouped.first_group + other, row);
    }
    if (row == end) return false;
    int64_t a_at = walk_offset(kept, a) + walk_offset(summed, a) + row * stride(g, a, 0);
    int64_t b_at = walk_offset(kept, b) + walk_offset(summed, b) + row * stride(g, b, 0);
    add_terms(s,
              (factor){place(g, a, a_at + k * stride(g, a, 2)), a->type, stride(g, a, 2),
                       stride(g, a, 0)},
              (factor){place(g, b, b_at + column * stride(g, b, 1)), b->type, stride(g, b, 0),
                       stride(g, b, 1)},
              high, wide, end - row, add);
    return true;
}

static void run_sums(const grouped *g, const nest *batch, const nest *summed, int64_t task,
                     const packed_space *s)
{
    const access *c = &g->i->out[0];
    int64_t       strips = ceil_div(g->n, PACKED_WIDE), blocks = ceil_div(g->k, PACKED_HIGH);
    int64_t       column = task % strips * PACKED_WIDE, k = task / strips % blocks * PACKED_HIGH;
    int64_t       group = task / strips / blocks % g->i->grouped.groups;
    int64_t       high = g->k - k < PACKED_HIGH ? g->k - k : PACKED_HIGH;
    int64_t       wide = g->n - column < PACKED_WIDE ? g->n - column : PACKED_WIDE;
    walk          kept = walk_at(batch, task / strips / blocks / g->i->grouped.groups, 1);
    bool          some = false;
    for (int64_t e = 0; e < summed->elements; e++) {
        walk w = walk_at(summed, e, 1);
        some = add_group(g, s, &kept, &w, group, k, high, column, wide, some) || some;
    }
    int64_t at = walk_offset(&kept, c) + group * g->i->grouped.group_stride;
    packed_put(s, c->type, place(g, c, at + k * stride(g, c, 2) + column * stride(g, c, 1)),
               stride(g, c, 2), stride(g, c, 1), high, wide, !some);
}

/* ---- both --------------------------------------------------------------------------------- */

/* The loops of the instruction before its last three in which b differs, or which the sum runs over. */
static uint32_t loops_apart(const instr *i, int row)
{
    uint32_t loops = 0;
    for (int l = 0; l < row; l++) {
        int64_t same = i->grouped.sums ? i->out[0].stride[l] : i->in[1].stride[l];
        if ((same == 0) == i->grouped.sums) loops |= (uint32_t)1 << l;
    }
    return loops;
}

static size_t space_bytes(const instr *i)
{
    int64_t k = i->size[i->nloops - 1], wide = i->grouped.sums ? PACKED_WIDE : columns_together(k);
    return packed_bytes(i->in[0].type, wide, i->grouped.sums ? PACKED_DEEP : k);
}

size_t grouped_scratch_bytes(const instr *i)
{
    int     row = i->nloops - 3;
    int64_t chunks = ceil_div(i->size[row], CHUNK);
    for (int l = 0; l < row; l++) chunks *= i->size[l];
    return space_bytes(i) + (size_t)chunks * sizeof(int64_t);
}

void kernel_grouped(const instr *i, const run_state *r)
{
    int            row = i->nloops - 3;
    grouped        g = {i, r, row, i->size[row], i->size[row + 1], i->size[row + 2]};
    const uint32_t all = loops_between(0, row), apart = loops_apart(i, row);
    const nest     one = nest_of(i, apart, NULL, 0), other = nest_of(i, all & ~apart, NULL, 0);
    int64_t        elements = instr_elements(i), tasks, slices = 1;
    if (i->grouped.sums) {
        tasks = other.elements * i->grouped.groups * ceil_div(g.n, PACKED_WIDE) *
                ceil_div(g.k, PACKED_HIGH);
    } else {
        int64_t stripes = one.elements * ceil_div(g.n, columns_together(g.k));
        slices = slices_of(r, stripes, other.elements * ceil_div(g.rows, CHUNK));
        tasks = stripes * slices;
    }
    int parts = work_parts(r, elements, tasks);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++) {
        char        *scratch = (char *)r->scratch + (size_t)part * grouped_scratch_bytes(i);
        int64_t     *reached = (int64_t *)(void *)(scratch + space_bytes(i));
        packed_space s = packed_space_at(scratch, i->in[0].type);
        int64_t      first = tasks * part / parts, end = tasks * (part + 1) / parts;
        for (int64_t task = first; task < end; task++)
            if (i->grouped.sums) {
                run_sums(&g, &other, &one, task, &s);
            } else {
                stripe t = stripe_of(&g, &one, &other, slices, task, reached);
                multiply_stripe(&g, &s, &t);
            }
        /* All rows count, as in the plan: only a run knows which are in a group here. */
        if (part == 0) report_flops(r, 2 * elements);
    }
}
