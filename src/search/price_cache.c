/* Costs of the layouts that were priced, by their cuts. */
#include "search/price_cache.h"

#include <string.h>

#include "base/names.h"

enum { FIRST_SLOTS = 64 };

/* Where these cuts are, or would be. */
static int *find_slot(const price_cache *l, const cuts *c)
{
    uint64_t at = hash_bytes(0, c, sizeof *c) & l->mask;
    while (l->slots[at] && memcmp(&l->list[l->slots[at] - 1].cuts, c, sizeof *c) != 0)
        at = (at + 1) & l->mask;
    return &l->slots[at];
}

static bool add_slots(price_cache *l)
{
    uint64_t room = l->slots ? 4 * (l->mask + 1) : FIRST_SLOTS;
    l->slots = arena_array(l->arena, int, room);
    TRY(l->slots != NULL);
    l->mask = room - 1;
    for (int k = 0; k < l->n; k++) *find_slot(l, &l->list[k].cuts) = k + 1;
    return true;
}

cost *price_cache_find(const price_cache *l, const cuts *c)
{
    int at = l->slots ? *find_slot(l, c) : 0;
    return at ? &l->list[at - 1].cost : NULL;
}

bool price_cache_add(price_cache *l, const cuts *c, const cost *x)
{
    if (2 * (uint64_t)(l->n + 1) > l->mask) TRY(add_slots(l));
    TRY(arena_push(l->arena, l->list, l->n, l->room));
    l->list[l->n++] = (price_cache_entry){*c, *x};
    *find_slot(l, c) = l->n;
    return true;
}
