/* A growing list of token ids. */
#include "data/text/id_list.h"

#include "base/byte_list.h"

bool ids_reserve(id_list *l, int64_t more)
{
    int32_t *ids =
        list_grow(l->from, l->why, l->ids, sizeof *ids, l->count, l->count + more, &l->room);
    TRY(ids != NULL || l->count + more == 0);
    l->ids = ids;
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
