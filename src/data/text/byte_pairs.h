/* Byte pairs: merges neighbouring symbols, the lowest rank first. */
#ifndef DATA_TEXT_BYTE_PAIRS_H
#define DATA_TEXT_BYTE_PAIRS_H

#include "base/session.h"
#include "data/text/id_list.h"

typedef struct pair_merge {
    int32_t left, right, merged, rank;
} pair_merge;

typedef struct pair_table {
    pair_merge *slots; /* by hash; left -1: free */
    size_t      nslots;
} pair_table;

bool pair_table_make(mtf_session *s, int64_t count, pair_table *t);
/* Of equal pairs the first stays. */
void pair_table_put(pair_table *t, pair_merge m);

/* Working space for merging, kept from word to word. */
typedef struct pair_room {
    struct pair_symbol *symbols;
    struct pair_entry  *heap;
    size_t              size; /* symbols that there is room for */
} pair_room;

/* Merges n symbols as long as a pair of them can be merged, and appends the result. */
bool pair_merge_all(const pair_table *t, const int32_t *symbols, size_t n, pair_room *room,
                    id_list *out);
void pair_room_free(const mtf_allocator *from, pair_room *room);

#endif
