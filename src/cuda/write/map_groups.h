/* Neighbouring maps that one launch carries out together.
 *
 * An optimizer has a map for each variable, all with the same kernel, and most of them are so
 * small that starting them takes longer than their work.  A launch of a group has the blocks of
 * all members; a table in the GPU's memory says where each member's blocks begin, and has the
 * arguments that its kernel would have alone:
 *
 *     first block, numbers, addresses of outputs, addresses of inputs
 */
#ifndef CUDA_WRITE_MAP_GROUPS_H
#define CUDA_WRITE_MAP_GROUPS_H

#include "cuda/write/kernel_source.h"

/* Maps of the same text. */
typedef struct map_group {
    int           n;
    const instr **maps;
    kernel_plan  *alone;  /* how each would be launched by itself */
    int64_t       blocks; /* of all */
} map_group;

/* May a map that would be launched so be a member? */
bool map_may_join(const kernel_plan *alone);

/* Finds groups among the instructions k with free[k].  groups[k]: the one whose first member is
 * instruction k; NULL: none. */
bool map_groups_find(const program *p, arena *a, const bool *free, map_group **groups);

/* Writes the kernel of a group. */
bool write_map_group(kernel_source *s, const map_group *g, kernel_plan *plan);

/* Words of the table for each member. */
static inline int map_group_words(const instr *i, int numbers)
{
    return 1 + numbers + i->nout + i->nin;
}
/* Fills in the table; `base` has the addresses of buffers. */
void map_group_table(const map_group *g, void *const *base, uint64_t *table);

#endif
