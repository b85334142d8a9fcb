/* Pieces of text and their ids, found by their bytes. */
#include "data/text/piece_table.h"

#include <string.h>

bool piece_table_make(mtf_session *s, int64_t count, piece_table *t)
{
    size_t nslots = 16;
    while (nslots < 2 * (size_t)count) nslots *= 2;
    *t = (piece_table){.count = count, .nslots = nslots};
    t->pieces = arena_array(&s->arena, text_piece, count + 1);
    t->slots = arena_array(&s->arena, int32_t, nslots);
    if (!t->pieces || !t->slots) return false;
    memset(t->slots, 0xff, nslots * sizeof *t->slots);
    return true;
}

/* Where the piece is, or would be. */
static size_t slot_of(const piece_table *t, const char *bytes, size_t n)
{
    size_t at = hash_bytes(0, bytes, n) & (t->nslots - 1);
    for (;; at = (at + 1) & (t->nslots - 1)) {
        if (t->slots[at] < 0) return at;
        const text_piece *p = &t->pieces[t->slots[at]];
        if ((size_t)p->size == n && memcmp(p->bytes, bytes, n) == 0) return at;
    }
}

bool piece_table_put(piece_table *t, int32_t id, const char *bytes, size_t n)
{
    size_t at = slot_of(t, bytes, n);
    bool   fresh = t->slots[at] < 0;
    t->pieces[id] = (text_piece){bytes, (int32_t)n};
    t->slots[at] = id;
    if ((int32_t)n > t->longest) t->longest = (int32_t)n;
    return fresh;
}

int32_t piece_table_find(const piece_table *t, const char *bytes, size_t n)
{
    return n > (size_t)t->longest ? -1 : t->slots[slot_of(t, bytes, n)];
}
