/* Products with few columns: how they are spread over blocks. */
#include "cuda/write/kernel_text.h"
#include "cuda/write/slim_form.h"

enum {
    SHARED_FLOATS = 6144, /* of partial sums in a block */
    ROWS = 4,             /* of a warp, where terms are adjacent */
    LINE_BYTES = 128,     /* of memory, that are read together */
    BLOCK_BYTES = 104000, /* of the matrix that a block reads, where several share its rows */
    ENOUGH_BLOCKS = 100,
    LEAST_PIECES = 3 /* pieces of a thread, where several blocks share rows */
};

/* Whole lines of memory for a block, and few terms, so that many are under way at once. */
static slim_tiles shared_tiles(const instr *i, const slim_form *f, int most)
{
    int64_t    rows = i->size[f->big], terms = i->size[f->k];
    int64_t    bytes = (int64_t)mtf_dtype_bytes(f->w->type);
    slim_tiles t = {.lanes = LINE_BYTES / (int)(f->vector * bytes),
                    .shared = 1,
                    .group = WARP_SIZE,
                    .rows = ROWS};
    int64_t    wide = (int64_t)t.lanes * f->vector, tiles = kernel_parts(rows, wide);
    int64_t    pieces = terms / (SLIM_BLOCK / t.lanes);
    while (2 * t.shared <= most && pieces / (2 * t.shared) >= LEAST_PIECES &&
           (f->batches * tiles * t.shared < ENOUGH_BLOCKS ||
            wide * terms * bytes > BLOCK_BYTES * t.shared))
        t.shared *= 2;
    t.tiles = tiles * t.shared;
    return t;
}

slim_tiles slim_tiles_of(const kernel_source *s, const instr *i, const slim_form *f)
{
    int64_t    rows = i->size[f->big], columns = i->size[f->slim];
    slim_tiles t = {.lanes = 2, .shared = 1, .group = WARP_SIZE, .rows = ROWS};
    if (f->adjacent_terms) {
        while (t.rows > 1 && (t.rows * columns > WARP_SIZE || columns > 2)) t.rows /= 2;
        bool few = f->batches * rows < (int64_t)s->multiprocessors * SLIM_BLOCK / WARP_SIZE;
        if (few) t.group = SLIM_BLOCK, t.rows = 1;
        t.tiles = kernel_parts(rows, (int64_t)(SLIM_BLOCK / t.group) * t.rows);
        return t;
    }
    int64_t each = (int64_t)f->vector * columns * (SLIM_BLOCK / WARP_SIZE); /* floats of a lane */
    slim_tiles wider = shared_tiles(i, f, s->cluster);
    if (wider.shared > 1 && wider.lanes <= WARP_SIZE && wider.lanes * each <= SHARED_FLOATS)
        return wider;
    for (int more = 4; more <= WARP_SIZE; more *= 2) {
        int64_t wide = (int64_t)more * f->vector;
        bool    enough = f->batches * (rows / wide) >= s->multiprocessors;
        bool    narrow =
            wide * (int64_t)mtf_dtype_bytes(f->w->type) <= WARP_SIZE; /* bytes of a sector */
        if ((enough || narrow) && more * each <= SHARED_FLOATS) t.lanes = more;
    }
    t.tiles = kernel_parts(rows, (int64_t)t.lanes * f->vector);
    return t;
}
