/* Memory, second attempt: the largest buffers first.
 *
 * Placing in order of time leaves gaps that nothing fits into.  Here buffers
 * are placed again in order of size, each at the lowest offset that is free
 * during its live range; the smaller slab is used.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/passes.h"

#include <assert.h>

enum { MOST_PLACED = 4000 }; /* each is compared with all before it */

/* Buffers that reuse each other's place, as one. */
typedef struct placed_buffer {
    int     buffer; /* the first of them */
    int     first, last;
    int64_t bytes, offset;
} placed_buffer;

static int first_of_place(const program *p, int b)
{
    while (p->buffers[b].shares != b) b = p->buffers[b].shares;
    return b;
}

/* Lists them; `of`: by buffer, its entry, or -1. */
static int list_buffers(const program *p, int64_t align, int64_t guard, placed_buffer *list,
                        int *of)
{
    int n = 0;
    for (int b = 0; b < p->nbuffers; b++) {
        const buffer *x = &p->buffers[b];
        of[b] = -1;
        if (x->kind == BUFFER_VARIABLE || x->first < 0 || x->shares != b) continue;
        int64_t bytes = ((x->bytes ? x->bytes : 1) + align - 1) / align * align + guard;
        list[n] = (placed_buffer){b, x->first, x->last, bytes, -1};
        of[b] = n++;
    }
    for (int b = 0; b < p->nbuffers; b++) {
        const buffer *x = &p->buffers[b];
        if (x->kind == BUFFER_VARIABLE || x->first < 0 || x->shares == b) continue;
        placed_buffer *t = &list[of[first_of_place(p, b)]];
        if (x->last > t->last) t->last = x->last;
    }
    return n;
}

static int larger_first(const void *a, const void *b)
{
    const placed_buffer *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->buffer - y->buffer;
}

/* The lowest gap between the placed buffers, ordered by offset, with overlapping live ranges. */
static int64_t lowest_gap(const placed_buffer *t, const placed_buffer *placed, const int *by_offset,
                          int n)
{
    int64_t at = 0;
    for (int k = 0; k < n; k++) {
        const placed_buffer *x = &placed[by_offset[k]];
        if (x->last < t->first || x->first > t->last) continue;
        if (x->offset >= at + t->bytes) break;
        if (x->offset + x->bytes > at) at = x->offset + x->bytes;
    }
    return at;
}

static int64_t place_all(placed_buffer *list, int n, int *by_offset)
{
    int64_t end = 0;
    qsort(list, (size_t)n, sizeof *list, larger_first);
    for (int k = 0; k < n; k++) {
        placed_buffer *t = &list[k];
        int            at = k;
        t->offset = lowest_gap(t, list, by_offset, k);
        while (at > 0 && list[by_offset[at - 1]].offset > t->offset) at--;
        memmove(&by_offset[at + 1], &by_offset[at], sizeof(int) * (size_t)(k - at));
        by_offset[at] = k;
        if (t->offset + t->bytes > end) end = t->offset + t->bytes;
    }
    return end;
}

bool place_by_size(program *p, int64_t align, int64_t guard)
{
    if (p->slab_bytes <= p->live_bytes) return true;
    placed_buffer *list = arena_array(&p->arena, placed_buffer, p->nbuffers + 1);
    int           *of = arena_array(&p->arena, int, p->nbuffers + 1);
    int           *by_offset = arena_array(&p->arena, int, p->nbuffers + 1);
    TRY(list && of && by_offset);
    int n = list_buffers(p, align, guard, list, of);
    if (n > MOST_PLACED) return true;
    int64_t end = place_all(list, n, by_offset);
    if (end >= p->slab_bytes) return true;
    p->slab_bytes = end;
    for (int k = 0; k < n; k++) p->buffers[list[k].buffer].offset = list[k].offset;
    assert(end >= p->live_bytes); /* no order of placing needs less than what is alive */
    for (int b = 0; b < p->nbuffers; b++)
        if (p->buffers[b].shares != b)
            p->buffers[b].offset = p->buffers[first_of_place(p, b)].offset;
    return true;
}
