/* A free list: an allocator that keeps released blocks for reuse.
 *
 * A search plans thousands of programs one after another, all with blocks of the same sizes;
 * asking the system for them each time costs more than half as much as planning.  Not thread-safe.
 */
#ifndef BASE_FREE_LIST_H
#define BASE_FREE_LIST_H

#include "base/memory.h"

typedef struct free_block free_block;

typedef struct free_list {
    mtf_allocator        as; /* allocates from this list; points at it, so it must not move */
    const mtf_allocator *from;
    free_block          *idle;
    int64_t              out; /* blocks not yet released */
} free_list;

void free_list_open(free_list *h, const mtf_allocator *from);
void free_list_close(free_list *h); /* after all blocks were released */

#endif
