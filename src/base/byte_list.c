/* Memory that grows as it is filled. */
#include "base/byte_list.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *list_grow(const mtf_allocator *from, fault *why, void *old, size_t element, int64_t count,
                int64_t needed, int64_t *room)
{
    enum { LEAST = 64 };
    assert(0 <= count && count <= *room && count <= needed);
    if (needed <= *room) return old;
    int64_t more = needed > 2 * *room ? needed + LEAST : 2 * *room;
    if ((uint64_t)more > SIZE_MAX / 2 / element) return NULL;
    size_t bytes = element * (size_t)more;
    void  *grown = from ? block_alloc(from, why, bytes, false) : realloc(old, bytes);
    if (!grown) return NULL;
    if (from && count) memcpy(grown, old, element * (size_t)count);
    if (from) block_free(from, old);
    *room = more;
    return grown;
}

bool bytes_reserve(byte_list *l, size_t more)
{
    char *bytes =
        list_grow(l->from, l->why, l->bytes, 1, l->count, l->count + (int64_t)more + 1, &l->room);
    TRY(bytes != NULL);
    l->bytes = bytes;
    return true;
}

bool bytes_add(byte_list *l, const void *bytes, size_t n)
{
    TRY(bytes_reserve(l, n));
    if (n) memcpy(l->bytes + l->count, bytes, n);
    l->count += (int64_t)n;
    l->bytes[l->count] = 0;
    return true;
}

void bytes_free(byte_list *l)
{
    if (l->from)
        block_free(l->from, l->bytes);
    else
        free(l->bytes);
    l->bytes = NULL;
    l->count = l->room = 0;
}
