/* Memory: every buffer gets a place in one slab.
 *
 * A buffer lives from its first to its last use; a buffer from outside that a
 * loop uses lives to the loop's end.  Places are assigned in order of time from
 * a list of free gaps, the smallest that fits; an elementwise result reuses the
 * place of an operand whose live range ends there.
 *
 * A device that runs collectives beside other work must not write at once to what
 * they read: a long reduction's result takes the place of its operand, and operands
 * of other collectives stay until the next one, short ones until one is awaited anyway.
 */
#include <string.h>

#include "base/abilities.h"

#include <assert.h>
#include "plan/passes.h"
#include "program/wire_sizes.h"

enum { ALIGN = 64 };

typedef struct gap {
    int64_t begin, end;
} gap;

typedef struct slab {
    gap    *gaps; /* ascending, never adjacent */
    int     ngaps, room;
    int64_t end; /* everything after it is free */
    arena  *arena;
} slab;

/* ---- live ranges ---- */

static void touch(buffer *b, int k)
{
    if (b->first < 0) b->first = k;
    b->last = k;
}

/* A buffer that is written before a loop and used inside it is needed in every iteration. */
static void stretch_over_loops(program *p)
{
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *loop = &p->instrs[k];
        if (loop->kind != INSTR_LOOP) continue;
        int end = loop->loop.other;
        assert(end > k && p->instrs[end].kind == INSTR_AGAIN);
        for (int i = k; i <= end; i++) {
            const instr *in = &p->instrs[i];
            for (int o = 0; o < in->nout + in->nin; o++) {
                buffer *b =
                    &p->buffers[o < in->nout ? in->out[o].buffer : in->in[o - in->nout].buffer];
                if (b->first < k && b->last < end) b->last = end;
            }
        }
    }
}

/* The last instruction, before the next collective or where a loop begins or ends. */
static int end_of_quiet(const program *p, int k)
{
    while (k + 1 < p->ninstrs) {
        const instr *next = &p->instrs[k + 1];
        if (instr_is_collective(next) || next->kind == INSTR_LOOP || next->kind == INSTR_AGAIN)
            break;
        k++;
    }
    return k;
}

/* Wires combine in place, too; but a short operand would be copied before. */
static bool reduces_in_place(const program *p, const instr *i)
{
    return i->kind == INSTR_REDUCE && p->session->can.overlaps &&
           i->size[0] * (int64_t)mtf_dtype_bytes(i->out[0].type) > WHOLE_BYTES;
}

static void keep_until(program *p, const instr *i, int end, int end_if_short)
{
    for (int o = 0; o < i->nin; o++) {
        buffer *b = &p->buffers[i->in[o].buffer];
        int     last = b->bytes <= WHOLE_BYTES ? end_if_short : end;
        if (b->last < last) b->last = last;
    }
}

/* Backwards.  Short operands stay until a result is read, of their collective or of a later one, since these end in
 * their order: whatever came to lie in their place would have to wait for all collectives up to there, which takes
 * far longer than the place is worth. */
static bool keep_operands(program *p, arena *a)
{
    int *next_read = arena_array(a, int, p->nbuffers + 1), awaited = p->ninstrs - 1;
    TRY(next_read != NULL);
    for (int b = 0; b < p->nbuffers; b++) next_read[b] = p->ninstrs - 1;
    for (int k = p->ninstrs - 1; k >= 0; k--) {
        const instr *i = &p->instrs[k];
        bool         collective = instr_is_collective(i);
        if (instr_is_control(i)) awaited = k;
        for (int o = 0; o < i->nout && collective; o++)
            if (next_read[i->out[o].buffer] < awaited) awaited = next_read[i->out[o].buffer];
        if (collective && !reduces_in_place(p, i)) keep_until(p, i, end_of_quiet(p, k), awaited);
        for (int o = 0; o < i->nin; o++) next_read[i->in[o].buffer] = k;
    }
    return true;
}

/* Does instruction k go on with the result of the one before? */
static bool goes_on(const program *p, int k)
{
    const instr *before = &p->instrs[k - 1];
    for (int o = 0; o < p->instrs[k].nin && before->nout == 1; o++)
        if (p->instrs[k].in[o].buffer == before->out[0].buffer) return true;
    return false;
}

/* Some devices compute a product of few columns and the maps that go on with it at once: so their results
 * do not take the place of its factors, which are small. */
static void stretch_over_maps(program *p)
{
    enum { MOST_MAPS = 4, SMALL = 1 << 16 };
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        int          end = k;
        if (i->kind != INSTR_CONTRACT) continue;
        while (end < k + MOST_MAPS && end + 1 < p->ninstrs &&
               p->instrs[end + 1].kind == INSTR_MAP && goes_on(p, end + 1))
            end++;
        for (int o = 0; o < 2; o++) {
            buffer *b = &p->buffers[i->in[o].buffer];
            if (b->bytes <= SMALL && b->last == k) b->last = end;
        }
    }
}

static bool lifetimes(program *p)
{
    for (int b = 0; b < p->nbuffers; b++) {
        p->buffers[b].first = p->buffers[b].last = -1;
        p->buffers[b].shares = b;
    }
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        for (int o = 0; o < i->nin; o++) touch(&p->buffers[i->in[o].buffer], k);
        for (int o = 0; o < i->nout; o++) touch(&p->buffers[i->out[o].buffer], k);
    }
    stretch_over_loops(p);
    TRY(!p->session->can.overlaps || keep_operands(p, &p->arena));
    if (p->session->can.slim) stretch_over_maps(p);
    for (int b = 0; b < p->nbuffers; b++) {
        buffer *x = &p->buffers[b];
        if (x->kind == BUFFER_FETCH) x->last = p->ninstrs;
        if (x->kind == BUFFER_INPUT || x->kind == BUFFER_CONSTANT)
            x->first = 0, x->last = p->ninstrs;
    }
    return true;
}

/* Buffers by the instruction after which their place is free again, as linked lists.  That
 * instruction need not use them: a loop may extend their live range to its end. */
typedef struct deaths {
    int *first; /* by instruction; -1: none */
    int *next;  /* by buffer; -1: the last */
} deaths;

static bool list_deaths(program *p, deaths *d)
{
    d->first = arena_array(&p->arena, int, p->ninstrs + 1);
    d->next = arena_array(&p->arena, int, p->nbuffers + 1);
    TRY(d->first && d->next);
    for (int k = 0; k < p->ninstrs; k++) d->first[k] = -1;
    for (int b = 0; b < p->nbuffers; b++) {
        const buffer *x = &p->buffers[b];
        if (x->kind != BUFFER_TEMPORARY || x->first < 0) continue;
        d->next[b] = d->first[x->last];
        d->first[x->last] = b;
    }
    return true;
}

/* ---- the free list ---- */

static int64_t take(slab *s, int64_t bytes)
{
    int best = -1;
    assert(bytes > 0);
    for (int i = 0; i < s->ngaps; i++) {
        int64_t size = s->gaps[i].end - s->gaps[i].begin;
        if (size >= bytes && (best < 0 || size < s->gaps[best].end - s->gaps[best].begin)) best = i;
    }
    if (best >= 0) {
        gap    *g = &s->gaps[best];
        int64_t at = g->begin;
        g->begin += bytes;
        if (g->begin == g->end) {
            memmove(g, g + 1, sizeof *g * (size_t)(s->ngaps - best - 1));
            s->ngaps--;
        }
        return at;
    }
    int64_t at = s->end;
    if (s->ngaps && s->gaps[s->ngaps - 1].end == s->end) at = s->gaps[--s->ngaps].begin;
    s->end = at + bytes;
    return at;
}

static bool give(slab *s, int64_t begin, int64_t bytes)
{
    int64_t end = begin + bytes;
    int     low = 0, high = s->ngaps;
    while (low < high) {
        int mid = (low + high) / 2;
        if (s->gaps[mid].begin < begin)
            low = mid + 1;
        else
            high = mid;
    }
    /* What is given back was taken: it lies in no gap, and within the slab. */
    assert(low == 0 || s->gaps[low - 1].end <= begin);
    assert(low == s->ngaps || s->gaps[low].begin >= end);
    assert(end <= s->end);
    bool left = low > 0 && s->gaps[low - 1].end == begin;
    bool right = low < s->ngaps && s->gaps[low].begin == end;
    if (left && right) {
        s->gaps[low - 1].end = s->gaps[low].end;
        memmove(&s->gaps[low], &s->gaps[low + 1], sizeof(gap) * (size_t)(s->ngaps - low - 1));
        s->ngaps--;
    } else if (left) {
        s->gaps[low - 1].end = end;
    } else if (right) {
        s->gaps[low].begin = begin;
    } else {
        TRY(arena_push(s->arena, s->gaps, s->ngaps, s->room));
        memmove(&s->gaps[low + 1], &s->gaps[low], sizeof(gap) * (size_t)(s->ngaps - low));
        s->gaps[low] = (gap){begin, end};
        s->ngaps++;
    }
    return true;
}

/* ---- placing ---- */

static bool in_slab(const buffer *b)
{
    return b->kind != BUFFER_VARIABLE && b->first >= 0;
}

/* Is every element of input o read just before the same element of the output is written?  So does a
 * map, and a product with the matrix that it adds. */
static bool is_elementwise(const instr *i, int out, int o)
{
    return i->kind == INSTR_MAP ||
           (i->kind == INSTR_CONTRACT && out == 0 && o > 0 && o == i->contract.add);
}

/* The operand whose place the output of an elementwise instruction may reuse, or -1: its live range
 * ends here, and every element is read just before the same element is written. */
static int heir_of(const program *p, int k, int out)
{
    const instr *i = &p->instrs[k];
    int          b = i->out[out].buffer;
    if (p->buffers[b].first != k || p->buffers[b].kind == BUFFER_VARIABLE) return -1;
    for (int o = 0; o < i->nin; o++) {
        if (!is_elementwise(i, out, o) && !reduces_in_place(p, i)) continue;
        const access *in = &i->in[o];
        const buffer *dies = &p->buffers[in->buffer];
        /* An empty part may be read without having been written: then it has no place yet. */
        bool same = dies->kind == BUFFER_TEMPORARY && dies->first < k && dies->last == k &&
                    in->offset == i->out[out].offset &&
                    mtf_dtype_bytes(in->type) == mtf_dtype_bytes(i->out[out].type) &&
                    dies->bytes == p->buffers[b].bytes;
        for (int d = 0; d < i->nloops && same; d++)
            same = i->size[d] == 1 || in->stride[d] == i->out[out].stride[d];
        for (int q = 0; q < i->nin && same; q++) /* no other operand reads it in another order */
            same = q == o || i->in[q].buffer != in->buffer;
        for (int q = 0; q < p->instrs[k].nout && same; q++)
            same = q == out || p->buffers[i->out[q].buffer].shares != in->buffer;
        if (same) return in->buffer;
    }
    return -1;
}

static int64_t rounded(const program *p, int b)
{
    int64_t bytes =
        p->buffers[b].bytes ? p->buffers[b].bytes : 1; /* an empty part needs an address, too */
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Without a slab it only counts. */
static bool run_through_time(program *p, slab *s, int64_t guard)
{
    int64_t alive = 0;
    deaths  dead;
    bool   *inherited = arena_array(&p->arena, bool, p->nbuffers + 1);
    TRY(inherited && list_deaths(p, &dead));
    for (int b = 0; b < p->nbuffers; b++)
        if (in_slab(&p->buffers[b]) &&
            (p->buffers[b].kind == BUFFER_INPUT || p->buffers[b].kind == BUFFER_CONSTANT)) {
            p->buffers[b].offset = s ? take(s, rounded(p, b) + guard) : 0;
            alive += rounded(p, b);
        }
    if (alive > p->live_bytes) p->live_bytes = alive;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        for (int o = 0; o < i->nout + i->nin; o++) {
            int     b = o < i->nout ? i->out[o].buffer : i->in[o - i->nout].buffer;
            buffer *x = &p->buffers[b];
            if (x->first != k || !in_slab(x) || x->kind == BUFFER_INPUT ||
                x->kind == BUFFER_CONSTANT)
                continue;
            if (x->shares != b || x->offset >= 0) continue;
            int heir = o < i->nout ? heir_of(p, k, o) : -1;
            if (heir >= 0 && !inherited[heir]) {
                x->offset = p->buffers[heir].offset;
                x->shares = heir;
                inherited[heir] = true;
                continue;
            }
            x->offset = s ? take(s, rounded(p, b) + guard) : 0;
            alive += rounded(p, b);
        }
        if (alive > p->live_bytes) p->live_bytes = alive;
        for (int b = dead.first[k]; b >= 0; b = dead.next[b]) {
            if (inherited[b]) continue;
            alive -= rounded(p, b);
            assert(alive >= 0);
            if (s) TRY(give(s, p->buffers[b].offset, rounded(p, b) + guard));
        }
    }
    return true;
}

static bool begin(program *p)
{
    TRY(lifetimes(p));
    for (int b = 0; b < p->nbuffers; b++) p->buffers[b].offset = -1;
    p->live_bytes = 0;
    return true;
}

bool count_alive(program *p, int64_t *most)
{
    arena_mark mark = arena_here(&p->arena);
    TRY(begin(p) && run_through_time(p, NULL, 0));
    arena_back(&p->arena, mark);
    *most = p->live_bytes;
    p->live_bytes = 0;
    for (int b = 0; b < p->nbuffers; b++) { /* as they were: a draft gets no places */
        buffer *x = &p->buffers[b];
        x->first = x->last = 0;
        x->offset = 0;
        x->shares = b;
    }
    return true;
}

bool place_buffers(program *p, int64_t guard)
{
    slab s = {.arena = &p->arena};
    TRY(begin(p) && run_through_time(p, &s, guard));
    p->slab_bytes = s.end;
    assert(p->slab_bytes >= p->live_bytes);
    return place_by_size(p, ALIGN, guard);
}
