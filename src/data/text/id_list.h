/* A growing list of token ids. */
#ifndef DATA_TEXT_ID_LIST_H
#define DATA_TEXT_ID_LIST_H

#include "base/memory.h"

typedef struct id_list {
    const mtf_allocator *from;
    fault               *why; /* receives the error where memory runs out */
    int32_t             *ids;
    int64_t              count, room;
} id_list;

/* Makes room for `more` ids; false: no memory. */
bool ids_reserve(id_list *l, int64_t more);
bool ids_add(id_list *l, int32_t id);
bool ids_add_all(id_list *l, const int32_t *ids, int64_t n);
void ids_free(id_list *l);

#endif
