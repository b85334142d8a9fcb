/* One tile of a map: its registers and what they hold. */
#ifndef CPU_MAP_TILE_H
#define CPU_MAP_TILE_H

#include "cpu/fold_steps.h"
#include "cpu/map_registers.h"
#include "cpu/walk.h"

enum {
    LONG_TILE = 1 << 20, /* elements, if no register is kept for longer than a strip */
    TILE = 16384,        /* if operands are contiguous: amortises the setup of a tile */
    SMALL_TILE = 4096,   /* if some operands must be loaded; or one row if that is longer */
    STRIP = 256          /* elements that go through all steps before the next strip */
};

typedef struct mapping {
    const instr     *instr;
    const run_state *run;
    map_registers    registers;
    nest             nest;          /* over all elements */
    nest             rows;          /* over all rows */
    int64_t          row, nrows;    /* length of a row; 1: no rows */
    bool             in_passes;     /* some steps wait for complete rows */
    int64_t          rows_together; /* rows of a tile, */
    int64_t          block;         /* which does not cross multiples of `block` rows */
    int64_t          tiles_per_block;
    int64_t          tile;           /* elements of a tile, without rows */
    int64_t          tiles_per_line; /* of the innermost loop; 0: a tile spans several lines */
    int64_t          tiles;
    size_t           slot_bytes;
} mapping;

/* The address of a register; `by` bytes from one element to the next, 0: all strips share one
 * place. */
typedef struct place {
    char   *at; /* NULL: not available yet */
    int64_t by;
    int64_t to_line; /* bytes from the end of a row to the beginning of the next; 0: contiguous */
} place;

/* What the next tile will probably read; prefetched a strip at a time. */
typedef struct tile_ahead {
    const char *at;
    int64_t     left; /* bytes */
} tile_ahead;

enum { MOST_AHEAD = 4 };

/* The least length of rows that are processed one by one, with one call per row and with several.
 * Shorter rows are processed many at once, after repeating values per row for each element. */
enum { ROW_WORTH_A_CALL = 8, ROW_WORTH_CALLS = 96 };

typedef struct tile {
    const mapping *m;
    walk           walk; /* its elements */
    walk           rows; /* its rows */
    char          *slots;
    bool           one_by_one; /* may steps process rows one by one? */
    place          reg[MAX_REGISTERS];
    place          spread[MAX_REGISTERS]; /* values per row, expanded to one per element */
    int            nahead;
    tile_ahead     ahead[MOST_AHEAD];
    int64_t        flops; /* of all tiles so far */
} tile;

/* Fills the constant registers; called once for each thread. */
void tile_begin(tile *t, const mapping *m, char *slots);

char   *tile_slot(const tile *t, int slot);
int64_t tile_register_bytes(const tile *t, int k); /* of an element of register k */

/* Counts the flops of those steps of first .. last-1 that run once per row (`once`), or of the
 * others.  (Indices are counted where they are computed.) */
void tile_report(tile *t, int first, int last, bool once);

/* The place of register k; reads it first if it is an input. */
place tile_fetch(tile *t, int k);
/* The same with one value per element. */
place tile_fetch_spread(tile *t, int k);
/* The same for steps that run row by row: the rows of an input are used in place, even if they are
 * not contiguous or one row serves all. */
place tile_fetch_lines(tile *t, int k);

/* out = the fold of a row x of the tile; `bytes`: size of an element. */
void tile_fold_row(const tile *t, const fold_steps *f, int64_t bytes, const char *x, void *out);

/* Steps along rows pass over a tile several times, and only the first pass waits for memory.
 * Meanwhile the passes prefetch `count` elements of the next tile. */
void tile_look_ahead(tile *t, int64_t count);

/* Constants and indices are available before the other steps run. */
static inline bool map_is_ready(const instr *i, int step)
{
    return i->map.steps[step].fn == FN_IMMEDIATE || i->map.steps[step].fn == FN_INDEX;
}

#endif
