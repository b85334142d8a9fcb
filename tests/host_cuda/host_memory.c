/* A GPU's memory on the host, with guards around each piece. */
#include "host_memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, POISON = 0xfb };

typedef struct piece {
    struct piece *next;
    char         *whole;
    size_t        bytes;
} piece;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static piece          *pieces;
static size_t          taken;

size_t host_memory_whole(void)
{
    const char *said = getenv("MTF_HOST_CUDA_MEMORY"); /* bytes, for tests of too little */
    return said ? (size_t)strtoull(said, NULL, 10) : (size_t)4 << 30;
}

size_t host_memory_taken(void)
{
    return taken;
}

/* What the driver takes for a piece: it maps pages of 2 MiB, and packs short pieces into them. */
static size_t room_for(size_t bytes)
{
    size_t unit = bytes < (size_t)1 << 20 ? 256 : (size_t)2 << 20;
    return (bytes + unit - 1) / unit * unit;
}

void *host_memory_take(size_t bytes)
{
    size_t room = room_for(bytes);
    piece *p = calloc(1, sizeof *p);
    pthread_mutex_lock(&lock);
    bool fits = taken + room <= host_memory_whole();
    if (fits) p->whole = aligned_alloc(256, (bytes + 255) / 256 * 256 + 2 * GUARD);
    if (p->whole) {
        p->bytes = bytes;
        p->next = pieces;
        pieces = p;
        taken += room;
    }
    pthread_mutex_unlock(&lock);
    if (!p->whole) {
        free(p);
        return NULL;
    }
    memset(p->whole, POISON, (bytes + 255) / 256 * 256 + 2 * GUARD);
    return p->whole + GUARD;
}

static void check(const piece *p, const char *who)
{
    static const char *const where[] = {"before", "after"};
    for (int side = 0; side < 2; side++) {
        const char *guard = side ? p->whole + GUARD + p->bytes : p->whole;
        for (int k = 0; k < GUARD; k++)
            if ((unsigned char)guard[k] != POISON) {
                fprintf(stderr, "%s: something was written %s a piece of %zu bytes, %d bytes off\n",
                        who, where[side], p->bytes, side ? k : GUARD - k);
                abort();
            }
    }
}

void host_memory_check(const char *who)
{
    pthread_mutex_lock(&lock);
    for (const piece *p = pieces; p; p = p->next) check(p, who);
    pthread_mutex_unlock(&lock);
}

bool host_memory_give(void *memory)
{
    pthread_mutex_lock(&lock);
    piece **at = &pieces, *p;
    while ((p = *at) && p->whole + GUARD != (char *)memory) at = &p->next;
    if (p) {
        check(p, "before it was given back");
        *at = p->next;
        taken -= room_for(p->bytes);
    }
    pthread_mutex_unlock(&lock);
    if (!p) return false;
    free(p->whole);
    free(p);
    return true;
}
