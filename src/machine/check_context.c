/* The check device's memory and contexts. */
#include "machine/check_context.h"

#include <string.h>

#include "machine/check_guard.h"
#include "machine/overlap.h"

device_context *check_wrap(device *d, device_context *inner, bool owned)
{
    mtf_session   *s = d->session;
    size_t         pattern = inner && !inner->device->host_memory ? CHECK_PATTERN : 0;
    check_context *c =
        inner ? block_alloc(&s->allocator, &s->fault, sizeof *c + pattern, true) : NULL;
    if (!c) return NULL;
    c->face = (device_context){d, inner->processor};
    c->inner = inner;
    c->owned = owned;
    return &c->face;
}

static device_context *check_open_context(device *d, int processor, int place)
{
    device_context *inner = inner_of(d)->open_context(inner_of(d), processor, place);
    device_context *outer = check_wrap(d, inner, true);
    if (inner && !outer) inner_of(d)->close_context(inner);
    return outer;
}

static void check_close_context(device_context *c)
{
    check_context *x = (check_context *)c;
    if (x->owned) under(c)->close_context(x->inner);
    block_free(&c->device->session->allocator, x->mirror);
    block_free(&c->device->session->allocator, x);
}

void check_fill(device_context *c, void *memory, int value, size_t bytes)
{
    if (under(c)->host_memory) {
        memset(memory, value, bytes);
        return;
    }
    unsigned char *pattern = ((check_context *)c)->pattern;
    memset(pattern, value, bytes < CHECK_PATTERN ? bytes : CHECK_PATTERN);
    for (size_t at = 0; at < bytes; at += CHECK_PATTERN) {
        size_t n = bytes - at < CHECK_PATTERN ? bytes - at : CHECK_PATTERN;
        under(c)->write(inside(c), (char *)memory + at, pattern, n);
    }
}

const char *check_view(device_context *c, const void *memory, size_t bytes)
{
    if (under(c)->host_memory || bytes == 0) return memory;
    check_context *x = (check_context *)c;
    under(c)->read(x->inner, x->mirror, memory, bytes);
    return x->mirror;
}

/* Steps allocate nothing, so there is room for the largest buffer before the first. */
static bool make_mirror(device_context *c, const program *p)
{
    check_context *x = (check_context *)c;
    mtf_session   *s = c->device->session;
    size_t         most = CHECK_GUARD;
    for (int b = 0; b < p->nbuffers; b++)
        if ((size_t)p->buffers[b].bytes > most) most = (size_t)p->buffers[b].bytes;
    if (under(c)->host_memory || x->room >= most) return true;
    x->mirror = block_renew(&s->allocator, &s->fault, x->mirror, most);
    x->room = x->mirror ? most : 0;
    return x->mirror != NULL;
}

const char *check_view_buffer(device_context *c, const program *p, int b, const run_state *r)
{
    return check_view(c, r->base[b], (size_t)p->buffers[b].bytes);
}

static void *check_alloc(device_context *c, size_t bytes)
{
    void *p = under(c)->alloc(inside(c), bytes);
    if (p) check_fill(c, p, GUARD, bytes);
    return p;
}

static void check_release(device_context *c, void *memory, size_t bytes)
{
    if (memory) check_fill(c, memory, POISON, bytes);
    under(c)->release(inside(c), memory, bytes);
}

static size_t check_taken(device_context *c, const void *memory)
{
    return under(c)->taken(inside(c), memory);
}

static bool check_bank(device_context *c, memory_bank *b)
{
    return under(c)->bank(inside(c), b);
}

static void check_write(device_context *c, void *to, const void *from, size_t bytes)
{
    under(c)->write(inside(c), to, from, bytes);
}

static void check_read(device_context *c, void *to, const void *from, size_t bytes)
{
    under(c)->read(inside(c), to, from, bytes);
}

static void *check_stage(device_context *c, size_t bytes)
{
    return under(c)->stage(inside(c), bytes);
}

static void check_wait(device_context *c)
{
    under(c)->wait(inside(c));
}

static bool check_prepare(device_context *c, const program *p, run_state *r)
{
    return make_mirror(c, p) && under(c)->prepare(inside(c), p, r);
}

static void check_forget(device_context *c, const program *p, run_state *r)
{
    under(c)->forget(inside(c), p, r);
}

static size_t check_scratch(device *d, const program *p, int threads)
{
    return inner_of(d)->scratch_bytes(inner_of(d), p, threads);
}

static void check_enter(device *d)
{
    inner_of(d)->enter(inner_of(d));
}

static void check_leave(device *d)
{
    inner_of(d)->leave(inner_of(d));
}

/* ---- in each other's memory ---- */

static bool check_peers_prepare(device_context *c, const mesh *m, const program *p)
{
    return under(c)->peers->prepare(inside(c), m, p);
}

static void *check_mark(device_context *c)
{
    return under(c)->peers->mark(inside(c));
}

static bool check_follow(device_context *c, void *mark)
{
    return under(c)->peers->follow(inside(c), mark);
}

static bool check_copy(device_context *c, void *to, const void *from, int64_t bytes)
{
    return under(c)->peers->copy(inside(c), to, from, bytes);
}

static bool check_copy_region(device_context *c, const struct region *r, const char *from, char *to,
                              int64_t element)
{
    return under(c)->peers->copy_region(inside(c), r, from, to, element);
}

static bool check_combine(device_context *c, fold_kind kind, mtf_dtype type, int n,
                          const char *const *parts, char *out, int64_t elements)
{
    return under(c)->peers->combine(inside(c), kind, type, n, parts, out, elements);
}

static struct wire *check_open_wire(device_context *c, const mesh *m, struct ranks *r)
{
    return under(c)->peers->open_wire(inside(c), m, r);
}

static void check_close(device *d)
{
    inner_of(d)->close(inner_of(d));
    block_free(&d->session->allocator, d);
}

/* Without combine_all and order: sums are made in several steps, collectives beside nothing. */
static device_peers peers_over(const device *inner)
{
    return (device_peers){.prepare = check_peers_prepare,
                          .mark = check_mark,
                          .follow = check_follow,
                          .copy = check_copy,
                          .copy_region = check_copy_region,
                          .combine = check_combine,
                          .open_wire = device_connects(inner) ? check_open_wire : NULL};
}

/* Without a recorder: checked steps are not captured. */
void check_forward(check_device *c, device *inner)
{
    c->inner = inner;
    if (inner->peers) c->peers = peers_over(inner);
    c->face = (device){.host_memory = inner->host_memory,
                       .peers = inner->peers ? &c->peers : NULL,
                       .open_context = check_open_context,
                       .close_context = check_close_context,
                       .alloc = check_alloc,
                       .release = check_release,
                       .taken = check_taken,
                       .bank = inner->bank ? check_bank : NULL,
                       .write = check_write,
                       .read = check_read,
                       .stage = check_stage,
                       .wait = check_wait,
                       .enter = check_enter,
                       .leave = check_leave,
                       .prepare = check_prepare,
                       .forget = check_forget,
                       .scratch_bytes = check_scratch,
                       .close = check_close,
                       .session = inner->session};
}
