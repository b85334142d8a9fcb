/* One tile of a map under way. */
#ifndef MACHINE_MAP_TILE_H
#define MACHINE_MAP_TILE_H

#include "machine/kernels/fold_steps.h"
#include "machine/kernels/map_registers.h"
#include "machine/kernels/nest.h"

enum {
    LONG_TILE = 1 << 20, /* elements, where nothing is kept for longer than a strip */
    TILE = 16384,        /* where operands lie side by side: setting up is spread over many */
    SMALL_TILE = 4096,   /* where some must be loaded; or one row where that is longer */
    STRIP = 256          /* elements that go through all steps before the next do */
};

typedef struct mapping {
    const instr     *instr;
    const run_state *run;
    map_registers    registers;
    nest             nest;          /* every element */
    nest             rows;          /* one element a row */
    int64_t          row, nrows;    /* length of a row; 1: there are none */
    bool             in_turns;      /* some steps wait for whole rows of others */
    int64_t          rows_together; /* in a tile, */
    int64_t          block;         /* which does not go beyond so many; nrows: all */
    int64_t          tiles_per_block;
    int64_t          tile;           /* elements, without rows */
    int64_t          tiles_per_line; /* of the nest's innermost loop; 0: tiles span it */
    int64_t          tiles;
    size_t           slot_bytes;
} mapping;

/* Where a register lies; `by` bytes from one element to the next, 0: each strip in the same place. */
typedef struct place {
    char   *at; /* NULL: not there yet */
    int64_t by;
    int64_t to_line; /* bytes from the end of a row to where the next begins; 0: side by side */
} place;

/* What the next tile will probably read, asked for a strip at a time. */
typedef struct ahead {
    const char *at;
    int64_t     left; /* bytes */
} ahead;

enum { MOST_AHEAD = 4 };

/* Rows that are long enough to be gone through one by one, with one call a row and with several; of
 * shorter ones many go together, and what is one number a row, or one row for all, is spread first. */
enum { ROW_WORTH_A_CALL = 8, ROW_WORTH_CALLS = 96 };

typedef struct tile {
    const mapping *m;
    walk           walk; /* its elements */
    walk           rows; /* its rows */
    char          *slots;
    bool           one_by_one; /* may steps go through rows so? */
    place          reg[MAX_REGISTERS];
    place          spread[MAX_REGISTERS]; /* one number a row, with an element each */
    int            nahead;
    ahead          ahead[MOST_AHEAD];
    int64_t        flops; /* of all tiles so far */
} tile;

/* Does every result of a map without rows go where it belongs when its step has its turn?  (Where
 * operands lie side by side; else it is stored from a slot.) */
bool map_writes_in_place(const mapping *m);

/* Fills the registers that are one number throughout; once for each thread. */
void tile_begin(tile *t, const mapping *m, char *slots);
/* Runs tile `which`. */
void tile_run(tile *t, int64_t which);

/* Counts those of the steps first .. last-1 that are done once a row, or the others: they have been
 * done.  (Positions are counted where they are made.) */
void tile_report(tile *t, int first, int last, bool once);

/* Where register k lies, an input after reading it. */
place tile_fetch(tile *t, int k);
/* The same with an element each. */
place tile_fetch_spread(tile *t, int k);
/* The same for steps that go row by row: rows of an input stay where they are, though they be apart,
 * or one for all. */
place tile_fetch_lines(tile *t, int k);

/* out = the fold of a row x of the tile, whose elements have so many bytes. */
void tile_fold_row(const tile *t, const fold_steps *f, int64_t bytes, const char *x, void *out);

/* Steps along rows pass over a tile several times, and only the first pass waits for memory.  So that
 * the next tile's need not, passes ask for `count` elements of it meanwhile. */
void tile_look_ahead(tile *t, int64_t count);

/* Constants and positions are there before the other steps run. */
static inline bool map_is_ready(const instr *i, int step)
{
    return i->map.steps[step].fn == FN_IMMEDIATE || i->map.steps[step].fn == FN_INDEX;
}

#endif
