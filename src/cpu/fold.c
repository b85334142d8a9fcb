/* Sums, products, extremes and their positions over loops.
 *
 * There are two methods, depending on what is contiguous in memory.  By lines:
 * each kept element folds its own line of reduced elements.  By fronts: a tile
 * of kept elements adds one reduced element each, row after row.
 * Floating-point sums are cascaded, 32 at a time from one level to the next, so
 * that errors grow with the logarithm of the length.  If there are few kept
 * elements with long lines, the lines are split into chunks; the bounds of
 * chunks depend on the sizes only, so any number of threads gives the same
 * bits.
 */
#include "base/whole.h"
#include "cpu/kernels.h"

#include "base/dtype.h"
#include "cpu/fold_steps.h"
#include "cpu/strided.h"

enum {
    WIDTH = 2048, /* the most kept elements that advance together */
    LEVELS = 4,   /* of the cascade: 32^4 pieces; the last level is a plain sum */
    FAN = 32,
    SHORT_LINE = 16, /* shorter lines are not worth a call of their own */
    FEW_KEPT = 256,  /* up to this many kept elements, lines are split into chunks */
    MOST_CHUNKS = 64,
    CHUNK = 16 * 1024, /* the least number of elements in a chunk */
    SCRATCH = FEW_KEPT * MOST_CHUNKS * 8
};

typedef struct folding {
    const instr       *instr;
    const run_state   *run;
    char              *out, *in;
    int64_t            bytes;        /* of an input element               */
    int64_t            number_bytes; /* of an element in its compute type */
    nest               kept, reduced;
    bool               by_lines;
    const fold_steps  *steps; /* NULL: finds positions */
    const fold_search *search;
} folding;

size_t fold_scratch_bytes(const instr *i)
{
    (void)i;
    return SCRATCH;
}

/* ---- the cascade ---- */

/* A partial sum for each level: after FAN parts, the sum of a level is added to the next level. */
typedef struct cascade {
    const fold_steps *steps;
    int64_t           width; /* numbers that are summed side by side */
    size_t            bytes; /* of all of them */
    int               count[LEVELS];
    number           *level[LEVELS];
} cascade;

static void cascade_take(cascade *c, int k, const void *x)
{
    if (c->count[k]++ == 0)
        memcpy(c->level[k], x, c->bytes);
    else
        c->steps->merge(c->width, c->level[k], x);
    if (c->count[k] == FAN && k + 1 < LEVELS) {
        c->count[k] = 0;
        cascade_take(c, k + 1, c->level[k]);
    }
}

/* Adds the levels from the lowest up; at least one part has been added. */
static void cascade_end(cascade *c, void *result)
{
    const number *sum = NULL;
    for (int k = 0; k < LEVELS; k++) {
        if (c->count[k] == 0) continue;
        if (sum) c->steps->merge(c->width, c->level[k], sum);
        sum = c->level[k];
    }
    memcpy(result, sum, c->bytes);
}

static cascade cascade_begin(const folding *f, int64_t width, number *room)
{
    cascade c = {.steps = f->steps, .width = width, .bytes = (size_t)(width * f->number_bytes)};
    for (int k = 0; k < LEVELS; k++) c.level[k] = room + k * width;
    return c;
}

/* ---- by lines ---- */

/* The state of folding a line, piece by piece. */
typedef struct line_state {
    cascade cascade;
    number  best; /* when finding positions */
    int32_t where;
    int64_t passed;
} line_state;

static void take_piece(const folding *f, line_state *s, const void *x, int64_t n)
{
    number sum;
    if (f->search) {
        f->search->line(n, x, s->passed, &s->best, &s->where);
        s->passed += n;
    } else {
        f->steps->line(n, x, &sum);
        cascade_take(&s->cascade, 0, &sum);
    }
}

/* A block of the reduced loops: long rows are read in place, short ones gathered to fill a
 * piece. */
static void take_block(const folding *f, line_state *s, const walk *w, char *at)
{
    const access *a = &f->instr->in[0];
    int64_t       row = nest_stride(&f->reduced, a, 1), step = nest_stride(&f->reduced, a, 0);
    number        tile[PIECE];
    bool          in_place = step == 1 && dtype_compute(a->type) == a->type;
    int64_t       together = w->count >= PIECE / 4 ? 1 : PIECE / w->count;
    for (int64_t r = 0; r < w->rows; r += together) {
        int64_t rows = w->rows - r < together ? w->rows - r : together;
        for (int64_t c = 0; c < w->count; c += PIECE) {
            int64_t n = w->count - c < PIECE ? w->count - c : PIECE;
            char   *x = at + (r * row + c * step) * f->bytes;
            if (in_place && rows == 1) {
                take_piece(f, s, x, n);
            } else {
                strided_loader(a->type)((strided){tile, n, 1}, (strided){x, row, step}, rows, n);
                take_piece(f, s, tile, rows * n);
            }
        }
    }
}

/* result = fold over reduced elements first .. last-1 of the kept element at `in` */
static void fold_line(const folding *f, char *in, int64_t first, int64_t last, void *result)
{
    number     room[LEVELS];
    line_state s = {.cascade = cascade_begin(f, 1, room)};
    for (walk w = walk_at(&f->reduced, first, last - first); w.left > 0; walk_on(&w))
        take_block(f, &s, &w, in + walk_offset(&w, &f->instr->in[0]) * f->bytes);
    if (f->search)
        memcpy(result, &s.where, sizeof s.where);
    else
        cascade_end(&s.cascade, result);
}

/* results[k] = the same for the kept elements of the walk k */
static void fold_lines(const folding *f, walk k, int64_t first, int64_t last, char *results)
{
    const access *a = &f->instr->in[0];
    int64_t       row = nest_stride(&f->kept, a, 1), step = nest_stride(&f->kept, a, 0);
    int64_t       bytes = f->search ? (int64_t)sizeof(int32_t) : f->number_bytes;
    bool          one_piece = !f->search && first == 0 && last <= PIECE && f->reduced.nloops == 1 &&
                     nest_stride(&f->reduced, a, 0) == 1 && dtype_compute(a->type) == a->type;
    for (; k.left > 0; walk_on(&k)) {
        char *at = f->in + walk_offset(&k, a) * f->bytes;
        for (int64_t r = 0; r < k.rows; r++)
            for (int64_t c = 0; c < k.count; c++, results += bytes) {
                char *line = at + (r * row + c * step) * f->bytes;
                if (one_piece)
                    f->steps->line(last, line, results);
                else
                    fold_line(f, line, first, last, results);
            }
    }
}

/* ---- by fronts ---- */

/* results[k] = fold over reduced elements first .. last-1, for all k of a walk of at most WIDTH
 * elements */
static void fold_front(const folding *f, walk k, int64_t first, int64_t last, char *results)
{
    const access *a = &f->instr->in[0];
    int64_t       row = nest_stride(&f->reduced, a, 1), step = nest_stride(&f->reduced, a, 0);
    number        tile[WIDTH], room[LEVELS * WIDTH];
    cascade       sums = cascade_begin(f, k.left, room);
    int64_t       at = first;
    for (walk w = walk_at(&f->reduced, first, last - first); w.left > 0; walk_on(&w)) {
        char *block = f->in + walk_offset(&w, a) * f->bytes;
        for (int64_t r = 0; r < w.rows; r++)
            for (int64_t c = 0; c < w.count; c++, at++) {
                void *x = tile_read(&k, a, block + (r * row + c * step) * f->bytes, tile);
                if (f->search)
                    f->search->merge(k.left, x, at, room, (int32_t *)(void *)results);
                else
                    cascade_take(&sums, 0, x);
            }
    }
    if (!f->search) cascade_end(&sums, results);
}

/* ---- the kernel ---- */

static void fold_part(const folding *f, walk k, int64_t first, int64_t last, void *results)
{
    report_flops(f->run, k.left * (last - first));
    if (f->by_lines)
        fold_lines(f, k, first, last, results);
    else
        fold_front(f, k, first, last, results);
}

/* Few results from many elements: folds chunks of the reduced elements, then joins them in
 * pairs. */
static void fold_in_chunks(const folding *f, const run_state *r, int64_t chunks)
{
    int64_t n = f->reduced.elements;
    walk    all = walk_at(&f->kept, 0, f->kept.elements);
    char   *results = r->scratch;
    int64_t room = f->kept.elements * f->number_bytes;
    int     parts = work_parts(r, n * f->kept.elements, chunks);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++)
        for (int64_t c = chunks * part / parts; c < chunks * (part + 1) / parts; c++)
            fold_part(f, all, n * c / chunks, n * (c + 1) / chunks, results + c * room);
    for (int64_t gap = 1; gap < chunks; gap *= 2)
        for (int64_t c = 0; c + gap < chunks; c += 2 * gap)
            f->steps->merge(f->kept.elements, results + c * room, results + (c + gap) * room);
    tile_store(all, &f->instr->out[0], f->out, results);
}

/* Many results: tiles of them, wide but not so wide that a thread has no work. */
static void fold_in_tiles(const folding *f, const run_state *r)
{
    int64_t kept = f->kept.elements, share = kept / (r->threads > 0 ? r->threads : 1);
    int64_t width = share < 16 ? 16 : share > WIDTH ? WIDTH : share & ~(int64_t)15;
    int64_t tiles = ceil_div(kept, width);
    int     parts = work_parts(r, kept * f->reduced.elements, tiles);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++)
        for (int64_t t = tiles * part / parts; t < tiles * (part + 1) / parts; t++) {
            number  results[WIDTH];
            int64_t left = kept - t * width;
            walk    k = walk_at(&f->kept, t * width, left < width ? left : width);
            fold_part(f, k, 0, f->reduced.elements, results);
            tile_store(k, &f->instr->out[0], f->out, results);
        }
}

static void fill_with_nothing(const folding *f)
{
    const access *a = &f->instr->out[0];
    number        value;
    dtype_store(dtype_compute(a->type), &value, 0, f->steps ? f->steps->nothing : 0);
    for (walk k = walk_at(&f->kept, 0, f->kept.elements); k.left > 0; walk_on(&k)) {
        char *at = f->out + walk_offset(&k, a) * (int64_t)mtf_dtype_bytes(a->type);
        strided_storer(a->type)(
            (strided){at, nest_stride(&f->kept, a, 1), nest_stride(&f->kept, a, 0)},
            (strided){&value, 0, 0}, k.rows, k.count);
    }
}

static bool prefers_lines(const folding *f)
{
    const access *a = &f->instr->in[0];
    int64_t       line = nest_stride(&f->reduced, a, 0), front = nest_stride(&f->kept, a, 0);
    if (f->kept.nloops == 0) return true;
    if (f->reduced.elements < SHORT_LINE && f->kept.elements >= SHORT_LINE) return false;
    return front == 0 || (line < 0 ? -line : line) <= (front < 0 ? -front : front);
}

/* out[i] = sum (or max, ...) over r of in[i, r] */
void kernel_fold(const instr *i, const run_state *r)
{
    fold_kind kind = i->fold.kind;
    bool      seeks = kind == FOLD_ARGMAX || kind == FOLD_ARGMIN;
    folding f = {.instr = i, .run = r, .out = operand(r, &i->out[0]), .in = operand(r, &i->in[0])};
    f.bytes = (int64_t)mtf_dtype_bytes(i->in[0].type);
    f.number_bytes = (int64_t)mtf_dtype_bytes(dtype_compute(i->in[0].type));
    f.kept = nest_of(i, loops_between(0, i->fold.nkept), &i->in[0], 0);
    /* Positions are counted in the order of the loops as given; sums may use any fixed order. */
    f.reduced = nest_of(i, loops_between(i->fold.nkept, i->nloops), seeks ? NULL : &i->in[0], 0);
    f.by_lines = prefers_lines(&f);
    f.steps = seeks ? NULL : fold_steps_of(kind, i->in[0].type);
    f.search = seeks ? fold_search_of(kind, i->in[0].type) : NULL;

    int64_t elements = f.kept.elements * f.reduced.elements, chunks = elements / CHUNK;
    if (chunks > MOST_CHUNKS) chunks = MOST_CHUNKS;
    if (chunks > f.reduced.elements) chunks = f.reduced.elements;
    if (f.kept.elements == 0) return;
    if (elements == 0)
        fill_with_nothing(&f);
    else if (!seeks && f.reduced.elements == 1 && i->in[0].type == i->out[0].type)
        kernel_move(i, r);
    else if (!seeks && f.kept.elements <= FEW_KEPT && chunks > 1)
        fold_in_chunks(&f, r, chunks);
    else
        fold_in_tiles(&f, r);
}
