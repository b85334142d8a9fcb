/* Byte pairs: merges neighbouring symbols, the lowest rank first.
 *
 * Pairs that can be merged are in a heap, the lowest rank first, and of equal ranks the leftmost.
 * A pair of which a symbol was merged meanwhile is skipped.  So n symbols take O(n log n) steps.
 */
#include "data/text/byte_pairs.h"

#include <string.h>

struct pair_symbol {
    int32_t id;             /* -1: it was merged into the one before it */
    int32_t previous, next; /* -1: none */
};

struct pair_entry {
    int32_t rank, at;    /* at: the left symbol */
    int32_t left, right; /* ids when the entry was made */
};

/* ---- the table ---- */

bool pair_table_make(mtf_session *s, int64_t count, pair_table *t)
{
    t->nslots = 16;
    while (t->nslots < 2 * (size_t)count) t->nslots *= 2;
    TRY((t->slots = arena_array(&s->arena, pair_merge, t->nslots)) != NULL);
    for (size_t i = 0; i < t->nslots; i++) t->slots[i].left = -1;
    return true;
}

static pair_merge *slot_of(const pair_table *t, int32_t left, int32_t right)
{
    uint64_t hash = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    for (size_t at = (size_t)(hash >> 32) & (t->nslots - 1);; at = (at + 1) & (t->nslots - 1)) {
        pair_merge *m = &t->slots[at];
        if (m->left < 0 || (m->left == left && m->right == right)) return m;
    }
}

void pair_table_put(pair_table *t, pair_merge m)
{
    pair_merge *slot = slot_of(t, m.left, m.right);
    if (slot->left < 0) *slot = m;
}

/* or NULL */
static const pair_merge *pair_table_find(const pair_table *t, int32_t left, int32_t right)
{
    const pair_merge *m = slot_of(t, left, right);
    return m->left < 0 ? NULL : m;
}

/* ---- the heap ---- */

typedef struct pair_heap {
    struct pair_entry *entries;
    size_t             count;
} pair_heap;

static bool before(const struct pair_entry *a, const struct pair_entry *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void swap(struct pair_entry *a, struct pair_entry *b)
{
    struct pair_entry kept = *a;
    *a = *b;
    *b = kept;
}

static void heap_push(pair_heap *h, struct pair_entry e)
{
    size_t i = h->count++;
    h->entries[i] = e;
    for (; i && before(&h->entries[i], &h->entries[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&h->entries[i], &h->entries[(i - 1) / 2]);
}

static struct pair_entry heap_pop(pair_heap *h)
{
    struct pair_entry first = h->entries[0];
    h->entries[0] = h->entries[--h->count];
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < h->count; child++)
            if (before(&h->entries[child], &h->entries[least])) least = child;
        if (least == i) return first;
        swap(&h->entries[i], &h->entries[least]);
        i = least;
    }
}

/* ---- merging ---- */

/* A merge removes one pair and adds at most two: with the initial ones, fewer than 3 n in all. */
static bool make_room(pair_room *room, size_t n, id_list *out)
{
    if (n <= room->size) return true;
    size_t size = n < 64 ? 64 : n + n / 2;
    pair_room_free(out->from, room);
    room->symbols = block_alloc(out->from, out->why, size * sizeof *room->symbols, false);
    room->heap = block_alloc(out->from, out->why, 3 * size * sizeof *room->heap, false);
    if (!room->symbols || !room->heap) return false;
    room->size = size;
    return true;
}

void pair_room_free(const mtf_allocator *from, pair_room *room)
{
    block_free(from, room->symbols);
    block_free(from, room->heap);
    *room = (pair_room){0};
}

static void offer_pair(const pair_table *t, const struct pair_symbol *symbols, int32_t at,
                       pair_heap *h)
{
    if (at < 0 || symbols[at].next < 0) return;
    int32_t           left = symbols[at].id, right = symbols[symbols[at].next].id;
    const pair_merge *m = pair_table_find(t, left, right);
    if (m) heap_push(h, (struct pair_entry){m->rank, at, left, right});
}

static void merge(const pair_table *t, struct pair_symbol *symbols, const struct pair_entry *e,
                  pair_heap *h)
{
    struct pair_symbol *left = &symbols[e->at];
    if (left->id != e->left || left->next < 0 || symbols[left->next].id != e->right) return;
    struct pair_symbol *right = &symbols[left->next];
    left->id = pair_table_find(t, e->left, e->right)->merged;
    left->next = right->next;
    right->id = -1;
    if (left->next >= 0) symbols[left->next].previous = e->at;
    offer_pair(t, symbols, left->previous, h);
    offer_pair(t, symbols, e->at, h);
}

bool pair_merge_all(const pair_table *t, const int32_t *ids, size_t n, pair_room *room,
                    id_list *out)
{
    if (n == 0) return true;
    if (n > INT32_MAX / 4) return fail(out->why, ERR_VALUE, "a word has %zu bytes, too many", n);
    TRY(make_room(room, n, out));
    struct pair_symbol *symbols = room->symbols;
    pair_heap           h = {.entries = room->heap};
    for (int32_t i = 0; i < (int32_t)n; i++)
        symbols[i] = (struct pair_symbol){ids[i], i - 1, i + 1 < (int32_t)n ? i + 1 : -1};
    for (int32_t i = 0; i + 1 < (int32_t)n; i++) offer_pair(t, symbols, i, &h);
    while (h.count) {
        struct pair_entry e = heap_pop(&h);
        merge(t, symbols, &e, &h);
    }
    for (int32_t i = 0; i >= 0; i = symbols[i].next) TRY(ids_add(out, symbols[i].id));
    return true;
}
