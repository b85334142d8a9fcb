/* A free list: an allocator that keeps released blocks for reuse. */
#include "base/free_list.h"

#include <assert.h>

struct free_block {
    free_block *next;
    size_t      room;
};

/* First fit, but no block that is much too large: arenas ask for few different sizes. */
static void *take_block(void *context, size_t bytes)
{
    free_list *h = context;
    for (free_block **at = &h->idle; *at; at = &(*at)->next) {
        free_block *x = *at;
        if (x->room < bytes || x->room / 2 > bytes) continue;
        *at = x->next;
        h->out++;
        return x + 1;
    }
    free_block *x = h->from->alloc(h->from->context, sizeof *x + bytes);
    if (!x) return NULL;
    x->room = bytes;
    h->out++;
    return x + 1;
}

static void put_back(void *context, void *memory)
{
    free_list  *h = context;
    free_block *x = (free_block *)memory - 1;
    x->next = h->idle;
    h->idle = x;
    h->out--;
}

void free_list_open(free_list *h, const mtf_allocator *from)
{
    *h = (free_list){.as = {.alloc = take_block, .release = put_back, .context = h}, .from = from};
}

void free_list_close(free_list *h)
{
    assert(h->out == 0);
    for (free_block *x = h->idle, *next; x; x = next) {
        next = x->next;
        h->from->release(h->from->context, x);
    }
    h->idle = NULL;
}
