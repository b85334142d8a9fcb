/* An allocator that keeps what it gets back, for the next who asks. */
#include "base/hoard.h"

#include <assert.h>

struct hoarded {
    hoarded *next;
    size_t   room;
};

/* The first that is large enough but not much too large: arenas ask for few sizes. */
static void *take(void *context, size_t bytes)
{
    hoard *h = context;
    for (hoarded **at = &h->idle; *at; at = &(*at)->next) {
        hoarded *x = *at;
        if (x->room < bytes || x->room / 2 > bytes) continue;
        *at = x->next;
        h->out++;
        return x + 1;
    }
    hoarded *x = h->from->alloc(h->from->context, sizeof *x + bytes);
    if (!x) return NULL;
    x->room = bytes;
    h->out++;
    return x + 1;
}

static void put_back(void *context, void *memory)
{
    hoard   *h = context;
    hoarded *x = (hoarded *)memory - 1;
    x->next = h->idle;
    h->idle = x;
    h->out--;
}

void hoard_open(hoard *h, const mtf_allocator *from)
{
    *h = (hoard){.as = {.alloc = take, .release = put_back, .context = h}, .from = from};
}

void hoard_close(hoard *h)
{
    assert(h->out == 0);
    for (hoarded *x = h->idle, *next; x; x = next) {
        next = x->next;
        h->from->release(h->from->context, x);
    }
    h->idle = NULL;
}
