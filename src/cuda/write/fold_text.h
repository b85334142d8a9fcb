/* Folds as kernels, for several instructions. */
#ifndef CUDA_WRITE_FOLD_TEXT_H
#define CUDA_WRITE_FOLD_TEXT_H

#include "cuda/write/kernel_text.h"

typedef struct fold_text {
    fold_kind kind;
    uint32_t  kept, reduced; /* sets of loops */
    bool      adds;          /* the result is added to the output */
} fold_text;

/* Are positions sought, not values? */
bool fold_seeks(fold_kind kind);

bool write_fold_of(kernel_source *s, const instr *i, kernel_plan *plan, fold_text how);

/* Sets what folds are written with:
 *
 *     $T, $C   types of the input, in memory and in computation
 *     $NONE    the number that changes no fold
 *     $JOIN    v takes in x; where positions are sought, w takes in wx as well
 *     $PUT     stores the result at `to`
 */
void fold_set_words(kernel_text *k, fold_kind kind, bool adds);

/* Bytes of `parts` partial results for each of `kept` outputs. */
int64_t fold_parts_bytes(const kernel_text *k, fold_kind kind, int64_t parts, int64_t kept);

/* Folds partial results in the working space, [part][kept], into out0: $OUTLOOPS declares the loops
 * of the output from its number `row`, and $OUT is its offset. */
bool fold_join_parts(kernel_text *k, kernel_plan *plan, int64_t parts, int64_t kept);

#endif
