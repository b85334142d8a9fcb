/* Blocks: memory that new variables of a processor share. */
#include "run/store_blocks.h"

/* Each part begins at a multiple of ALIGN bytes, as if it had its own memory.  Less than WORTH_PACKING
 * bytes are packed by the driver of devices itself. */
enum { ALIGN = 256, WORTH_PACKING = 1 << 20 };

typedef struct store_block {
    int    processor;
    void  *memory;
    size_t bytes;
} store_block;

static size_t bytes_of(const store *s, const store_entry *e, int processor)
{
    return (size_t)store_part_bytes(s, e->type, &e->shape, &e->where, processor);
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static bool take_each(store *s, int n, store_entry *const *entries, int p)
{
    for (int k = 0; k < n; k++) {
        entries[k]->parts[p] = s->device->alloc(s->contexts[p], bytes_of(s, entries[k], p));
        if (entries[k]->parts[p]) continue;
        fault_more(&s->session->fault, ERR_MEMORY, " for the variable \"%s\"", entries[k]->name);
        return store_blame(s, p);
    }
    return true;
}

static bool take_block(store *s, int n, store_entry *const *entries, int p, size_t bytes)
{
    TRY(arena_push(&s->session->arena, s->blocks, s->nblocks, s->blocks_room));
    char *memory = s->device->alloc(s->contexts[p], bytes);
    if (!memory) {
        fault_more(&s->session->fault, ERR_MEMORY, " for %d variables, the first being \"%s\"", n,
                   entries[0]->name);
        return store_blame(s, p);
    }
    s->blocks[s->nblocks++] = (store_block){p, memory, bytes};
    for (int k = 0; k < n; k++) {
        entries[k]->parts[p] = memory;
        memory += aligned(bytes_of(s, entries[k], p));
    }
    return true;
}

/* All processors do the same: the largest parts decide. */
bool store_take(store *s, int n, store_entry *const *entries)
{
    size_t most = 0;
    for (int p = s->first; p < s->end; p++) {
        size_t bytes = 0;
        for (int k = 0; k < n; k++) bytes += aligned(bytes_of(s, entries[k], p));
        if (bytes > most) most = bytes;
    }
    bool packed = s->device->bank && n > 1 && most >= WORTH_PACKING;
    for (int k = 0; k < n; k++) entries[k]->packed = packed;
    for (int p = s->first; p < s->end; p++) {
        size_t bytes = 0;
        for (int k = 0; k < n; k++) bytes += aligned(bytes_of(s, entries[k], p));
        TRY(packed ? take_block(s, n, entries, p, bytes) : take_each(s, n, entries, p));
    }
    return true;
}

void store_release_blocks(store *s)
{
    for (int k = 0; k < s->nblocks; k++)
        s->device->release(s->contexts[s->blocks[k].processor], s->blocks[k].memory,
                           s->blocks[k].bytes);
    s->nblocks = 0;
}
