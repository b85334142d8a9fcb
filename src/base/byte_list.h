/* Memory that grows as it is filled. */
#ifndef BASE_BYTE_LIST_H
#define BASE_BYTE_LIST_H

#include "base/memory.h"

/* An array with room for `needed` elements of this size: the old one, or a larger one with the old one's
 * first `count` elements, which replaces it.  NULL: no memory, and the old one is as it was.  Without an
 * allocator the memory is the C library's. */
void *list_grow(const mtf_allocator *from, fault *why, void *old, size_t element, int64_t count,
                int64_t needed, int64_t *room);

/* Bytes. */
typedef struct byte_list {
    const mtf_allocator *from;  /* NULL: the C library's */
    fault               *why;   /* receives the error where memory runs out, with an allocator */
    char                *bytes; /* a zero byte may be written at `count` */
    int64_t              count, room;
} byte_list;

/* Makes room for `more` bytes and a zero byte; false: no memory. */
bool bytes_reserve(byte_list *l, size_t more);
/* Appends bytes, and writes a zero byte behind them. */
bool bytes_add(byte_list *l, const void *bytes, size_t n);
void bytes_free(byte_list *l);

#endif
