/* Indices as text: their types, loops and offsets, and what moves at once.
 *
 * Both ways of writing a kernel, from patterns (kernel_text.h) and step by step (map_text.h),
 * go through loops of a nest as variables l0, l1, ... and find operands' elements with these.
 */
#ifndef CUDA_WRITE_INDEX_TEXT_H
#define CUDA_WRITE_INDEX_TEXT_H

#include "base/textbuf.h"
#include "machine/nest.h"

enum {
    BLOCK_THREADS = 256, /* of kernels with no reason for another number */
    WARP_SIZE = 32,
    PACK_BYTES = 16 /* of the widest load or store of a thread */
};

/* Do indices below `most`, offsets of operands or numbers of elements need 64 bits?  Sums of two narrow ones
 * are still below 2^31. */
bool        index_needs_wide(const instr *i, int64_t most);
const char *index_type(bool wide);   /* of an index: i32 or i64 */
const char *index_number(bool wide); /* of what is divided to find indices: u32 or u64 */

/* Declares loop k of a nest, PREFIXk, from the number `number` of a piece of all loops; the innermost one is
 * counted in steps of `vector`.  `below`: pieces of the loops inside of it. */
void    index_add_loop(textbuf *t, const nest *n, int k, const char *prefix, const char *number,
                       int64_t below, int vector, bool wide);
int64_t index_pieces(const nest *n, int k, int vector); /* of loop k */
/* Where an operand's element lies along the loops of a nest; false, and nothing, where it is the first. */
bool index_add_offset(textbuf *t, const nest *n, const char *prefix, const access *a);

/* Do the strides along a nest's loops, but for the last `inner` ones, keep packs of so many elements aligned? */
bool index_keeps_aligned(const nest *n, int inner, const access *a, int pack);

#endif
