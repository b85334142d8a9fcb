/* A mesh of threads that read each other's memory.
 *
 * Each collective begins with a meeting where all have posted where their
 * operands lie, and ends with one after which these may change.  A reduction
 * is done in shards: each processor combines one shard in the order of the
 * group's members, then copies the others' shards, so that the result is the
 * same bit for bit on every processor and in every run.
 */
#include <pthread.h>
#include <string.h>

#include "base/dtype.h"
#include "machine/combine.h"
#include "machine/overlap.h"
#include "machine/wire.h"

typedef struct post {
    const char *in;
    char       *out;
} post;

typedef struct thread_wire {
    wire            face;
    const mesh     *mesh;
    int             count;
    post           *posts;   /* by processor */
    pthread_mutex_t lock;
    pthread_cond_t  all_here;
    int             arrived;
    unsigned        meeting; /* number of the current one */
    bool            aborted;
} thread_wire;

/* Waits until all processors have come; false where one failed. */
static bool meet(thread_wire *w)
{
    pthread_mutex_lock(&w->lock);
    unsigned now = w->meeting;
    if (++w->arrived == w->count) {
        w->arrived = 0;
        w->meeting++;
        pthread_cond_broadcast(&w->all_here);
    }
    while (now == w->meeting && !w->aborted) pthread_cond_wait(&w->all_here, &w->lock);
    bool ok = !w->aborted;
    pthread_mutex_unlock(&w->lock);
    return ok;
}

/* The processors that differ from `me` along the axes only, in ascending order. */
static int group_of(const mesh *m, int me, unsigned axes, int *mine, int *members)
{
    axis_list all = {0};
    for (int a = 0; a < m->naxes; a++)
        if (axes >> a & 1) all.axis[all.n++] = (uint8_t)a;
    int   n = cut_parts(m, &all);
    mesh_point p = mesh_place(m, me);
    *mine = cut_part(m, &all, &p);
    for (int k = 0; k < n; k++) {
        cut_set_part(m, &all, k, &p);
        members[k] = mesh_number(m, &p);
    }
    return n;
}

enum { MAX_GROUP = 4096 };

static bool reduce(thread_wire *w, int me, const instr *i)
{
    int     members[MAX_GROUP], mine;
    int     n = group_of(w->mesh, me, i->reduce.axes, &mine, members);
    int64_t elements = i->size[0], bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    TRY(meet(w));
    const char *parts[MAX_GROUP];
    span       shard = part_range(elements, n, mine);
    for (int k = 0; k < n; k++) parts[k] = w->posts[members[k]].in + shard.begin * bytes;
    combine(i->reduce.kind, i->out[0].type, n, parts, w->posts[me].out + shard.begin * bytes, shard.size);
    TRY(meet(w));
    for (int k = 0; k < n; k++) {
        span r = part_range(elements, n, k);
        if (k != mine) memcpy(w->posts[me].out + r.begin * bytes, w->posts[members[k]].out + r.begin * bytes,
                              (size_t)(r.size * bytes));
    }
    return meet(w);
}

/* Visits every part of the old placement that overlaps this processor's new part. */
static bool exchange(thread_wire *w, int me, const instr *i)
{
    TRY(meet(w));
    mesh_point        here = mesh_place(w->mesh, me);
    region_visit v = region_start(w->mesh, i->exchange, &here);
    for (region r; region_next(&v, &r);)
        region_copy(&r, w->posts[mesh_number(w->mesh, &r.source)].in, w->posts[me].out,
                    (int64_t)mtf_dtype_bytes(i->out[0].type));
    return meet(w);
}

static bool threads_run(wire *face, int me, const instr *i, void *const *base)
{
    thread_wire *w = (thread_wire *)face;
    int64_t      bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    w->posts[me] = (post){(const char *)base[i->in[0].buffer] + i->in[0].offset * bytes,
                          (char *)base[i->out[0].buffer] + i->out[0].offset * bytes};
    return i->kind == INSTR_REDUCE ? reduce(w, me, i) : exchange(w, me, i);
}

static void threads_abort(wire *face)
{
    thread_wire *w = (thread_wire *)face;
    pthread_mutex_lock(&w->lock);
    w->aborted = true;
    pthread_cond_broadcast(&w->all_here);
    pthread_mutex_unlock(&w->lock);
}

static void threads_reset(wire *face)
{
    thread_wire *w = (thread_wire *)face;
    w->arrived = 0;
    w->aborted = false;
}

static void threads_close(wire *face)
{
    thread_wire *w = (thread_wire *)face;
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->all_here);
    block_free(&face->session->allocator, w->posts);
    block_free(&face->session->allocator, w);
}

wire *wire_threads_open(mtf_session *s, const mesh *m)
{
    thread_wire *w = block_alloc(&s->allocator, &s->fault, sizeof *w, true);
    if (!w) return NULL;
    w->face = (wire){.name = "threads", .run = threads_run, .abort = threads_abort, .reset = threads_reset,
                     .close = threads_close, .session = s};
    w->mesh = m;
    w->count = mesh_size(m);
    w->posts = block_alloc(&s->allocator, &s->fault, sizeof(post) * (size_t)w->count, true);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->all_here, NULL);
    if (w->posts) return &w->face;
    threads_close(&w->face);
    return NULL;
}
