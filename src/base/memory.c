/* Arenas: memory by lifetime. */
#include "base/memory.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

enum { CHUNK = 16 * 1024, ALIGN = 16, BLOCK_ALIGN = 64 };

struct chunk {
    chunk *older;
    size_t room;
    size_t pad[2]; /* keeps the bytes after the header aligned */
};

arena arena_make(const mtf_allocator *from, fault *f)
{
    return (arena){.from = from, .fault = f};
}

static bool add_chunk(arena *a, size_t bytes)
{
    /* Chunks double, so that a large graph costs few calls. */
    size_t room = a->chunks ? a->chunks->room * 2 : CHUNK;
    if (room > (1u << 22)) room = 1u << 22;
    if (room < bytes) room = bytes;
    chunk *c = a->from->alloc(a->from->context, sizeof(chunk) + room);
    if (!c) return fail(a->fault, ERR_MEMORY, "no memory for another %zu bytes", room);
    c->older = a->chunks;
    c->room = room;
    a->chunks = c;
    a->used = 0;
    return true;
}

/* Not zeroed. */
static void *take_chunk(arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 4) {
        fail(a->fault, ERR_MEMORY, "no memory for %zu bytes", bytes);
        return NULL;
    }
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!a->chunks || a->chunks->room - a->used < bytes)
        if (!add_chunk(a, bytes)) return NULL;
    char *p = (char *)(a->chunks + 1) + a->used;
    a->used += bytes;
    return p;
}

void *arena_alloc(arena *a, size_t bytes)
{
    void *p = take_chunk(a, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

void *arena_copy(arena *a, const void *data, size_t bytes)
{
    void *p = take_chunk(a, bytes);
    if (p && bytes) memcpy(p, data, bytes);
    return p;
}

char *arena_text(arena *a, const char *text)
{
    return arena_copy(a, text, strlen(text) + 1);
}

void arena_free(arena *a)
{
    arena_back(a, (arena_mark){0});
}

arena_mark arena_here(const arena *a)
{
    return (arena_mark){a->chunks, a->used};
}

void arena_back(arena *a, arena_mark mark)
{
    while (a->chunks != mark.chunk) {
        chunk *older = a->chunks->older;
        a->from->release(a->from->context, a->chunks);
        a->chunks = older;
    }
    a->used = mark.used;
}

void *arena_grow(arena *a, void *array, size_t element, int count, int *room)
{
    if (*room > INT_MAX / 2) {
        fail(a->fault, ERR_MEMORY, "no memory for a list of more than %d elements", *room);
        return NULL;
    }
    int   more = *room ? *room * 2 : 8;
    void *bigger = arena_alloc(a, element * (size_t)more);
    if (!bigger) return NULL;
    if (count) memcpy(bigger, array, element * (size_t)count);
    *room = more;
    return bigger;
}

/* What the allocator returned; stored just before the aligned block. */
typedef struct block_head {
    void  *given;
    size_t bytes;
} block_head;

static block_head head_of(const void *block)
{
    block_head head;
    memcpy(&head, (const char *)block - sizeof head, sizeof head);
    return head;
}

void *block_alloc(const mtf_allocator *from, fault *f, size_t bytes, bool zero)
{
    if (bytes > SIZE_MAX / 4) {
        fail(f, ERR_MEMORY, "no memory for %zu bytes", bytes);
        return NULL;
    }
    char *given = from->alloc(from->context, bytes + BLOCK_ALIGN + sizeof(block_head));
    if (!given) {
        fail(f, ERR_MEMORY, "no memory for %zu bytes", bytes);
        return NULL;
    }
    uintptr_t at =
        ((uintptr_t)given + sizeof(block_head) + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
    char      *p = given + (at - (uintptr_t)given);
    block_head head = {given, bytes};
    memcpy(p - sizeof head, &head, sizeof head);
    return zero ? memset(p, 0, bytes) : p;
}

void block_free(const mtf_allocator *from, void *memory)
{
    if (!memory) return;
    from->release(from->context, head_of(memory).given);
}

size_t block_bytes(const void *memory)
{
    return memory ? head_of(memory).bytes : 0;
}

void *block_renew(const mtf_allocator *from, fault *f, void *old, size_t bytes)
{
    block_free(from, old);
    return block_alloc(from, f, bytes, false);
}
