/* A growing list of token ids. */
#include "data/text/id_list.h"

#include <string.h>

bool ids_reserve(id_list *l, int64_t more)
{
    int64_t room = l->count + more;
    if (room <= l->room) return true;
    if (room < 2 * l->room) room = 2 * l->room;
    if (room < 64) room = 64;
    int32_t *ids = block_alloc(l->from, l->why, (size_t)room * sizeof *ids, false);
    TRY(ids != NULL);
    if (l->count) memcpy(ids, l->ids, (size_t)l->count * sizeof *ids);
    block_free(l->from, l->ids);
    l->ids = ids;
    l->room = room;
    return true;
}

bool ids_add(id_list *l, int32_t id)
{
    TRY(ids_reserve(l, 1));
    l->ids[l->count++] = id;
    return true;
}

bool ids_add_all(id_list *l, const int32_t *ids, int64_t n)
{
    for (int64_t k = 0; k < n; k++) TRY(ids_add(l, ids[k]));
    return true;
}

void ids_free(id_list *l)
{
    block_free(l->from, l->ids);
    l->ids = NULL;
    l->count = l->room = 0;
}
