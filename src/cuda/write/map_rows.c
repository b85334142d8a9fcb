/* Maps that fold along rows: which threads have which rows. */
#include "cuda/write/map_rows.h"

#include "base/dtype.h"

enum {
    SHARED_BLOCK = 128, /* threads of a block in which a warp or less has a row */
    PLAIN_BLOCK = 256,  /* for a row that does not stay in registers, */
    LONG_BLOCK = 1024,  /* also if there are few of them */
    COLUMN_BLOCK = 512, /* for a row whose columns are added up, while that suffices */
    MOST_ELEMENTS = 32, /* of a row that a thread has in registers, */
    MOST_KEPT = 64,     /* and words that it keeps of them */
    FEW_ROWS = 8,       /* of each multiprocessor: fewer do not fill a GPU with a warp each */
    IDLE = 8,           /* one of so many threads may be without work */
    SEVERAL = 2,        /* rows at once */
};

/* A multiprocessor. */
enum {
    QUARTERS = 4,        /* that have registers of their own, */
    QUARTER_WORDS = 512, /* so many for each thread of a warp */
    MOST_QUARTER_WARPS = 12,
    OTHER_WORDS = 16,      /* that a thread needs beside elements and sums */
    MOST_SEVERAL = 512 / 4 /* of a thread that has several rows at once */
};

static bool are_few(const row_text *r)
{
    return r->m.rows.elements < (int64_t)FEW_ROWS * r->m.multiprocessors;
}

static int64_t pieces_of(int64_t pieces, int threads)
{
    return (pieces + threads - 1) / threads;
}

static bool fits(const row_text *r, int threads)
{
    int64_t elements = pieces_of(r->pieces, threads) * r->m.vector;
    int     most = threads >= LONG_BLOCK ? MOST_KEPT / 2 : MOST_KEPT;
    return elements <= MOST_ELEMENTS &&
           elements * (map_passes_kept_words(r->m.i, &r->passes) + r->columns.sums) <= most;
}

static int whole_warps(int64_t threads)
{
    return (int)((threads + WARP_SIZE - 1) / WARP_SIZE) * WARP_SIZE;
}

/* The fewest threads, or, `wide`, the most that are of use; 0: what they have to keep fits into no
 * block's registers. */
static int block_of(const row_text *r, bool wide)
{
    int first = 2 * WARP_SIZE, most = 0;
    if (wide) first = r->pieces < COLUMN_BLOCK ? whole_warps(r->pieces) : COLUMN_BLOCK;
    for (int threads = first; threads <= LONG_BLOCK; threads += WARP_SIZE) {
        if (!fits(r, threads)) continue;
        int64_t idle = pieces_of(r->pieces, threads) * threads - r->pieces;
        if (idle * IDLE <= r->pieces || threads >= whole_warps(r->pieces)) return threads;
        if (!most) most = threads;
    }
    return most;
}

/* Words of all that a thread loads of a row, or, `repeated`, once. */
static int loaded_words(const row_text *r, bool repeated)
{
    const instr *i = r->m.i;
    int          words = 0;
    for (int k = 0; k < i->nin; k++) {
        int bytes = (int)mtf_dtype_bytes(i->in[k].type);
        if (r->passes.row[k] || nest_repeats(&r->m.rows, &i->in[k]) != repeated) continue;
        words += (bytes * r->m.vector + 3) / 4 * r->pieces_each;
    }
    return words;
}

/* Words of a thread that has so many rows at once.  When the next ones are there, what was loaded of these
 * is in use, and counts as kept. */
static int words_of(const row_text *r, int at_once)
{
    int elements = r->pieces_each * r->m.vector;
    int of_row = loaded_words(r, false) + elements * map_passes_kept_words(r->m.i, &r->passes);
    return OTHER_WORDS + loaded_words(r, true) + elements * r->columns.sums + at_once * of_row;
}

/* Rows at once, and as many blocks as have room for their registers. */
static void choose_beside(row_text *r)
{
    bool folds = map_folds_rows(r->m.i) && r->threads > WARP_SIZE;
    if (r->early && folds && !are_few(r) && words_of(r, SEVERAL) <= MOST_SEVERAL)
        r->at_once = SEVERAL;
    int warps = QUARTER_WORDS / words_of(r, r->at_once);
    if (warps > MOST_QUARTER_WARPS) warps = MOST_QUARTER_WARPS;
    r->beside = warps * QUARTERS * WARP_SIZE / (r->threads * r->together);
    if (r->beside < 1) r->beside = 1;
}

void map_rows_choose(row_text *r)
{
    int64_t rows = r->m.rows.elements;
    int     threads = 1;
    while (threads < WARP_SIZE && threads < r->pieces) threads *= 2;
    bool more = are_few(r) && r->pieces > 2 * WARP_SIZE;
    bool wide = more || (r->columns.sums && r->pieces > WARP_SIZE);
    if (r->pieces > WARP_SIZE && (wide || !fits(r, threads))) threads = block_of(r, wide);
    r->keeps = threads > 0 && fits(r, threads);
    if (!r->keeps) r->passes = map_passes_of(r->m.i, true);
    if (!threads) threads = are_few(r) || r->columns.sums ? LONG_BLOCK : PLAIN_BLOCK;
    r->threads = threads;
    r->together = threads > WARP_SIZE ? 1 : SHARED_BLOCK / threads;
    if (r->together > rows) { /* no warps without work */
        int least = WARP_SIZE / (threads < WARP_SIZE ? threads : WARP_SIZE);
        while (r->together > rows && r->together / 2 >= least) r->together /= 2;
    }
    r->pieces_each = r->keeps || r->columns.sums ? (int)pieces_of(r->pieces, threads) : 0;
    r->beside = r->at_once = 1;
    if (!r->columns.sums) return;
    r->early = r->keeps && loaded_words(r, false) + loaded_words(r, true) <= MOST_KEPT;
    choose_beside(r);
}

void map_rows_give(row_text *r, int threads)
{
    r->inner = true;
    r->keeps = fits(r, threads);
    r->threads = threads;
    r->together = r->beside = r->at_once = 1;
    r->pieces_each = r->keeps ? (int)pieces_of(r->pieces, threads) : 0;
    if (!r->keeps) r->passes = map_passes_of(r->m.i, true);
}

bool map_rows_idle(const row_text *r)
{
    return r->pieces_each == 1 && r->pieces % r->threads != 0 && !r->m.slanted;
}

int64_t map_rows_blocks(row_text *r)
{
    int64_t rows = r->m.rows.elements, taken = r->together * r->at_once;
    int64_t blocks = (rows + taken - 1) / taken;
    int64_t most = (int64_t)MOST_PARTS * r->m.multiprocessors / r->together;
    int64_t at_once = (int64_t)r->m.multiprocessors * r->beside;
    if (!r->columns.sums) return blocks;
    if (most > at_once) most = at_once;
    if (most < 1) most = 1;
    blocks = blocks < most ? blocks : most;
    r->columns.columns = r->m.nest.elements;
    r->columns.parts = blocks * r->together;
    r->columns.pieces_each = r->pieces_each;
    return blocks;
}
