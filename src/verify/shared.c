/* One copy of each of many pieces of memory. */
#include "verify/shared.h"

#include <string.h>

struct shared_piece {
    uint64_t    hash;
    size_t      bytes;
    const void *data; /* NULL: none here */
};

static uint64_t hash_of(const void *data, size_t bytes)
{
    uint64_t h = bytes;
    for (size_t k = 0; k < bytes; k += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)data + k, bytes - k < 8 ? bytes - k : 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

static shared_piece *piece_of(const shared *s, uint64_t hash, const void *data, size_t bytes)
{
    uint64_t mask = (uint64_t)s->room - 1, at = hash & mask;
    for (;; at = (at + 1) & mask) {
        shared_piece *p = &s->pieces[at];
        if (!p->data) return p;
        if (p->hash == hash && p->bytes == bytes && memcmp(p->data, data, bytes) == 0) return p;
    }
}

static bool grow(shared *s)
{
    shared larger = {.arena = s->arena, .n = s->n, .room = s->room ? 2 * s->room : 1024};
    larger.pieces = arena_array(s->arena, shared_piece, larger.room);
    TRY(larger.pieces != NULL);
    for (int k = 0; k < s->room; k++) {
        const shared_piece *p = &s->pieces[k];
        if (p->data) *piece_of(&larger, p->hash, p->data, p->bytes) = *p;
    }
    *s = larger;
    return true;
}

const void *shared_copy(shared *s, const void *data, size_t bytes)
{
    if (2 * s->n >= s->room && !grow(s)) return NULL;
    if (!bytes) return "";
    uint64_t      hash = hash_of(data, bytes);
    shared_piece *p = piece_of(s, hash, data, bytes);
    if (p->data) return p->data;
    const void *copy = arena_copy(s->arena, data, bytes);
    if (!copy) return NULL;
    *p = (shared_piece){hash, bytes, copy};
    s->n++;
    return copy;
}

static bool share_map(shared *s, map_args *m, int nout)
{
    m->steps = shared_copy(s, m->steps, sizeof *m->steps * (size_t)m->nsteps);
    m->results = shared_copy(s, m->results, sizeof *m->results * (size_t)nout);
    return m->steps && m->results;
}

/* What an instruction points to is shared first: then equal instructions have equal bytes. */
const instr *shared_instr(shared *s, const instr *from)
{
    instr i = *from;
    bool  ok = true;
    i.in = (access *)(uintptr_t)shared_copy(s, i.in, sizeof *i.in * (size_t)i.nin);
    i.out = (access *)(uintptr_t)shared_copy(s, i.out, sizeof *i.out * (size_t)i.nout);
    if (i.kind == INSTR_MAP) ok = share_map(s, &i.map, i.nout);
    if (i.kind == INSTR_ATTENTION || i.kind == INSTR_ATTENTION_GRAD)
        ok = (i.attention = shared_copy(s, i.attention, sizeof *i.attention)) != NULL;
    if (i.kind == INSTR_EXCHANGE)
        ok = (i.exchange = shared_copy(s, i.exchange, sizeof *i.exchange)) != NULL;
    if (i.kind == INSTR_SAY) i.say = (say_args){0};
    return ok && i.in && i.out ? shared_copy(s, &i, sizeof i) : NULL;
}
