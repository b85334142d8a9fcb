/* A map with folds along rows, in passes.
 *
 * Pass p goes along the row with all that folds of depth p need; they are complete when
 * it ends, and what is one number a row and depends on them is computed.  The last pass
 * stores what has an element each.  A register that a later pass needs again is kept, if
 * rows are short enough for that, or else computed again.
 *
 * A sum of e^(x - m), where m is the maximum of x or a limit of that, can be made in the
 * pass of the maximum: whenever a larger x comes, what was added up is scaled down.
 */
#ifndef CUDA_WRITE_MAP_PASSES_H
#define CUDA_WRITE_MAP_PASSES_H

#include "program/map_form.h"

typedef struct map_passes {
    int  n;                    /* passes; 0: nothing has an element each */
    bool row[MAX_REGISTERS];   /* one number a row */
    int  depth[MAX_REGISTERS]; /* how many folds, one of the other, come before it */
    int  first[MAX_REGISTERS]; /* an element each: the first pass that needs it; n: none */
    bool kept[MAX_REGISTERS];  /* needed by a later one as well */
    bool each[MAX_REGISTERS];  /* by output: has it an element each? */
    int  top[MAX_REGISTERS];   /* of a sum that is made with a maximum: that fold; 0: it is not */
} map_passes;

/* `scaled`: sums are made with maxima where they can be. */
map_passes map_passes_of(const instr *i, bool scaled);
/* Of a sum that is made with a maximum: x and m. */
int map_passes_scaled(const instr *i, int sum);
int map_passes_limit(const instr *i, int sum);

/* wanted[k]: pass p computes register k, or reads input k; where registers are kept, not again. */
void map_passes_wanted(const instr *i, const map_passes *p, int pass, bool keeps,
                       bool wanted[MAX_REGISTERS]);

/* 4-byte words that a thread keeps for each of its elements: the most between two passes. */
int map_passes_kept_words(const instr *i, const map_passes *p);

/* The pass that a step folds in; -1: it does not. */
int map_passes_fold(const instr *i, const map_passes *p, int step);

#endif
