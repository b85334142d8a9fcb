/* Instructions whose kernels have been written already.
 *
 * The layers of a model are equal but for their operands' buffers, which no kernel's text
 * depends on.  All else that an instruction says is put in a row of bytes: of two with
 * the same bytes the second gets the first one's plan.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "cuda/write/kernel_source.h"

struct written_instr {
    uint64_t    hash;
    size_t      bytes;
    const char *said; /* what the instruction says */
    kernel_plan plan;
};

/* ---- an instruction as bytes ---- */

/* Appends, or, where there is no memory, only counts. */
typedef struct byte_row {
    char  *to;
    size_t used;
} byte_row;

static void put(byte_row *r, const void *from, size_t bytes)
{
    if (r->to && bytes) memcpy(r->to + r->used, from, bytes);
    r->used += bytes;
}

static void put_operand(byte_row *r, const instr *i, const access *a)
{
    int64_t head[] = {a->type, a->offset};
    put(r, head, sizeof head);
    put(r, a->stride, sizeof *a->stride * (size_t)i->nloops);
}

/* Arguments that are elsewhere are taken from there.  Bytes between fields may be anything: then equal
 * instructions are not recognized, which does no harm. */
static void put_arguments(byte_row *r, const instr *i)
{
    if (i->kind == INSTR_MAP) {
        map_args alone = i->map;
        alone.steps = NULL;
        alone.results = NULL;
        put(r, &alone, sizeof alone);
        put(r, i->map.steps, sizeof *i->map.steps * (size_t)i->map.nsteps);
        put(r, i->map.results, sizeof *i->map.results * (size_t)i->nout);
    } else if (i->kind == INSTR_ATTENTION || i->kind == INSTR_ATTENTION_GRAD) {
        put(r, i->attention, sizeof *i->attention);
    } else {
        put(r, &i->map, sizeof *i - offsetof(instr, map)); /* whichever it is */
    }
}

static void put_instr(byte_row *r, const instr *i)
{
    int64_t head[] = {i->kind, i->nout, i->nin, i->nloops};
    put(r, head, sizeof head);
    put(r, i->size, sizeof *i->size * (size_t)i->nloops);
    for (int k = 0; k < i->nout; k++) put_operand(r, i, &i->out[k]);
    for (int k = 0; k < i->nin; k++) put_operand(r, i, &i->in[k]);
    put_arguments(r, i);
}

/* Of whole words, and of what is left. */
static uint64_t hash_of(const char *said, size_t bytes)
{
    uint64_t h = bytes, word;
    for (; bytes >= sizeof word; bytes -= sizeof word, said += sizeof word) {
        memcpy(&word, said, sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return hash_bytes(h, said, bytes);
}

/* ---- remembering ---- */

static const written_instr *find(const kernel_source *s, const written_instr *wanted)
{
    for (int k = 0; k < s->nwritten; k++) {
        const written_instr *w = &s->written[k];
        if (w->hash == wanted->hash && w->bytes == wanted->bytes &&
            memcmp(w->said, wanted->said, w->bytes) == 0)
            return w;
    }
    return NULL;
}

bool kernel_write(kernel_source *s, const instr *i, kernel_plan *plan)
{
    kernel_writer *writer = kernel_writer_of(i->kind);
    byte_row       count = {0};
    arena_mark     before = arena_here(s->arena);
    assert(writer);
    put_instr(&count, i);
    byte_row row = {.to = arena_alloc(s->arena, count.used)};
    TRY(row.to != NULL);
    put_instr(&row, i);
    written_instr        mine = {hash_of(row.to, row.used), row.used, row.to, {0}};
    const written_instr *known = find(s, &mine);
    if (known) {
        arena_back(s->arena, before);
        *plan = known->plan;
        return true;
    }
    TRY(writer(s, i, &mine.plan));
    *plan = mine.plan;
    TRY(arena_push(s->arena, s->written, s->nwritten, s->written_room));
    s->written[s->nwritten++] = mine;
    return true;
}
