/* Arenas: memory by lifetime.
 *
 * What belongs to a session, a graph or a program is taken from its arena and
 * freed with it, all at once.  Memory is zeroed.  A failed allocation is
 * recorded in the arena's fault, so callers only pass the NULL on.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

#include "base/fault.h"
#include "mtf.h"

typedef struct chunk chunk;

typedef struct arena {
    const mtf_allocator *from;
    fault               *fault;
    chunk               *chunks; /* newest first */
    size_t               used;   /* of the newest chunk */
} arena;

typedef struct arena_mark {
    chunk *chunk;
    size_t used;
} arena_mark;

arena      arena_make(const mtf_allocator *from, fault *f);
void      *arena_alloc(arena *a, size_t bytes);    /* zeroed, aligned to 16 */
char      *arena_text(arena *a, const char *text); /* a copy */
void      *arena_copy(arena *a, const void *data, size_t bytes);
void       arena_free(arena *a);
arena_mark arena_here(const arena *a);            /* scratch: take a mark, ... */
void       arena_back(arena *a, arena_mark mark); /* ... and drop all since    */

#define arena_new(a, type) ((type *)arena_alloc(a, sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_alloc(a, sizeof(type) * (size_t)(n)))

/* A growable array inside an arena: makes room for one more element after `count`. */
void *arena_grow(arena *a, void *array, size_t element, int count, int *room);
#define arena_push(a, array, count, room)                                                          \
    (((count) < (room)) ? (array)                                                                  \
                        : ((array) = arena_grow(a, array, sizeof *(array), count, &(room))))

/* Large blocks outside arenas, aligned to 64 bytes; zeroed only where `zero`. */
void  *block_alloc(const mtf_allocator *from, fault *f, size_t bytes, bool zero);
void   block_free(const mtf_allocator *from, void *memory);
size_t block_bytes(const void *memory); /* as many as were asked for; 0 for NULL */
/* Replaces a block by a new one of another size, not zeroed; the old contents are lost. */
void *block_renew(const mtf_allocator *from, fault *f, void *old, size_t bytes);

#endif
