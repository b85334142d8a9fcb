/* The library's plans: one for each problem, made beside other work. */
#include "cuda/library/dnn_plans.h"

#if MTF_HAVE_CUDNN
#include <errno.h>
#include <semaphore.h>
#include <string.h>

#include "base/names.h"
#include "cuda/driver/kernel_cache.h"
#include "cuda/driver/side_job.h"

struct dnn_made {
    dnn_request   request;
    cuda_context *context;
    side_job      job;           /* makes what follows: wait for it first */
    dnn_plan      plan;          /* none: our kernels are taken */
    int64_t       holders, used; /* used: when it was held last, by the clock of all */
};

/* A network may have hundreds of convolutions, and a handle takes 10 MB of the GPU: a few make the
 * plans, and another runs them all. */
enum { MAKERS = 4 };

struct dnn_plans {
    dnn_made      **plans;
    int             nplans, plans_room;
    int64_t         clock;
    sem_t           makers; /* so many more plans may be made at once */
    cudnnHandle_t   idle[MAKERS];
    int             nidle;
    pthread_mutex_t lock; /* of what is idle */
    cudnnHandle_t   runner;
    CUstream        stream; /* the runner's */
};

/* ---- one plan ---- */

static cache_key key_of(const cuda_context *c, const dnn_request *r)
{
    uint64_t  version = c->device->api.dnn.cudnnGetVersion();
    cache_key key = {{0, 1}};
    for (int k = 0; k < 2; k++) {
        uint64_t h = hash_bytes(key.hash[k], r->kind, strlen(r->kind) + 1);
        h = hash_bytes(h, &version, sizeof version);
        h = hash_bytes(h, c->gpu->name, strlen(c->gpu->name) + 1);
        h = hash_bytes(h, c->gpu->architecture, strlen(c->gpu->architecture) + 1);
        key.hash[k] = hash_bytes(h, r->problem, sizeof r->problem);
    }
    return key;
}

static void make_anew(const cuda_context *c, arena *a, cudnnHandle_t by, dnn_made *p)
{
    const cuda_dnn *api = &c->device->api.dnn;
    dnn_graph       g = dnn_begin(api, by);
    kernel_images   kept = {.n = 1};
    p->request.build(&g, p->request.problem);
    p->plan = dnn_choose(&g, p->request.limits);
    dnn_end(&g);
    if (!p->plan.plan) return;
    kept.image[0].bytes = dnn_write(api, a, &p->plan, &kept.image[0].size);
    if (kept.image[0].bytes) kernel_cache_write(key_of(c, &p->request), &kept);
}

static void make(const cuda_context *c, cudnnHandle_t by, dnn_made *p)
{
    const cuda_dnn *api = &c->device->api.dnn;
    fault           ignored = {0};
    arena           a = arena_make(&c->device->face.session->allocator, &ignored);
    kernel_images   kept = {0};
    if (kernel_cache_read(&a, key_of(c, &p->request), &kept) && kept.n == 1)
        p->plan = dnn_read(api, by, kept.image[0].bytes, kept.image[0].size);
    if (p->plan.plan && p->plan.workspace > p->request.limits.workspace) dnn_drop(api, &p->plan);
    if (!p->plan.plan) make_anew(c, &a, by, p);
    arena_free(&a);
}

/* ---- handles ---- */

/* Makes one if none is idle; it belongs to the GPU of the calling thread. */
static cudnnHandle_t take_handle(const cuda_context *c)
{
    dnn_plans    *all = c->plans;
    cudnnHandle_t taken = NULL;
    pthread_mutex_lock(&all->lock);
    if (all->nidle) taken = all->idle[--all->nidle];
    pthread_mutex_unlock(&all->lock);
    if (!taken && c->device->api.dnn.cudnnCreate(&taken) != CUDNN_STATUS_SUCCESS) return NULL;
    return taken;
}

static void give_handle(dnn_plans *all, cudnnHandle_t given)
{
    pthread_mutex_lock(&all->lock);
    all->idle[all->nidle++] = given;
    pthread_mutex_unlock(&all->lock);
}

static void make_with_handle(dnn_made *p)
{
    const cuda_context *c = p->context;
    if (c->device->api.driver.cuCtxSetCurrent(c->gpu->context) != CUDA_SUCCESS) return;
    cudnnHandle_t by = take_handle(c);
    if (!by) return;
    make(c, by, p);
    give_handle(c->plans, by);
}

static void make_beside(void *context)
{
    dnn_made *p = context;
    sem_t    *makers = &p->context->plans->makers;
    while (sem_wait(makers) != 0 && errno == EINTR) continue;
    make_with_handle(p);
    sem_post(makers);
}

/* ---- all of a processor ---- */

static bool is_same(const dnn_request *a, const dnn_request *b)
{
    return strcmp(a->kind, b->kind) == 0 && memcmp(a->problem, b->problem, sizeof a->problem) == 0;
}

static dnn_made *find(const cuda_context *c, const dnn_request *r)
{
    for (int k = 0; c->plans && k < c->plans->nplans; k++)
        if (is_same(&c->plans->plans[k]->request, r)) return c->plans->plans[k];
    return NULL;
}

bool dnn_plans_open(cuda_context *c)
{
    fault ignored = {0};
    if (c->plans) return true;
    pthread_mutex_lock(&c->device->product_lock); /* processors share the table of functions */
    bool there = cuda_open_dnn(&c->device->api, &ignored);
    pthread_mutex_unlock(&c->device->product_lock);
    if (!there || !(c->plans = arena_new(&c->arena, dnn_plans))) return false;
    sem_init(&c->plans->makers, 0, MAKERS);
    pthread_mutex_init(&c->plans->lock, NULL);
    return true;
}

static void drop(cuda_context *c, dnn_made *p)
{
    side_job_wait(&p->job);
    dnn_drop(&c->device->api.dnn, &p->plan);
    block_free(&c->device->face.session->allocator, p);
}

/* Drops what nothing holds, the least recently used first, while there are more than the limit. */
static void trim(cuda_context *c)
{
    dnn_plans *all = c->plans;
    while (all->nplans > c->device->most.plans) {
        int oldest = -1;
        for (int k = 0; k < all->nplans; k++)
            if (all->plans[k]->holders == 0 &&
                (oldest < 0 || all->plans[k]->used < all->plans[oldest]->used))
                oldest = k;
        if (oldest < 0) return;
        drop(c, all->plans[oldest]);
        all->plans[oldest] = all->plans[--all->nplans];
    }
}

void dnn_plans_hold(cuda_context *c, dnn_made *p)
{
    p->holders++;
    p->used = ++c->plans->clock;
}

void dnn_plans_let(cuda_context *c, dnn_made *p)
{
    p->holders--;
    trim(c);
}

static dnn_made *make_entry(cuda_context *c, const dnn_request *r)
{
    mtf_session *s = c->device->face.session;
    dnn_plans   *all = c->plans;
    if (!arena_push(&c->arena, all->plans, all->nplans, all->plans_room)) return NULL;
    dnn_made *made = block_alloc(&s->allocator, &s->fault, sizeof *made, true);
    if (!made) return NULL;
    *made = (dnn_made){.request = *r, .context = c};
    all->plans[all->nplans++] = made;
    side_job_start(&made->job, make_beside, made);
    return made;
}

dnn_made *dnn_plans_begin(cuda_context *c, const dnn_request *r)
{
    dnn_made *made = find(c, r);
    if (!made) made = make_entry(c, r);
    if (!made) return NULL;
    dnn_plans_hold(c, made);
    trim(c);
    return made;
}

bool dnn_plans_is_begun(const cuda_context *c, const dnn_request *r)
{
    return find(c, r) != NULL;
}

void dnn_plans_close(cuda_context *c)
{
    const cuda_dnn *api = &c->device->api.dnn;
    dnn_plans      *all = c->plans;
    if (!all) return;
    while (all->nplans) drop(c, all->plans[--all->nplans]);
    while (all->nidle) api->cudnnDestroy(all->idle[--all->nidle]);
    if (all->runner) api->cudnnDestroy(all->runner);
    pthread_mutex_destroy(&all->lock);
    sem_destroy(&all->makers);
    c->plans = NULL;
}

dnn_made *dnn_plans_find(cuda_context *c, const dnn_request *r)
{
    dnn_made *found = find(c, r);
    if (found) side_job_wait(&found->job);
    return found && found->plan.plan ? found : NULL;
}

cudnnStatus_t dnn_plans_run(cuda_context *c, dnn_made *p, dnn_part pack)
{
    const cuda_dnn *api = &c->device->api.dnn;
    dnn_plans      *all = c->plans;
    if (!all->runner && !(all->runner = take_handle(c))) return CUDNN_STATUS_NOT_INITIALIZED;
    if (all->stream != c->stream) { /* loops are captured on streams of their own */
        cudnnStatus_t said = api->cudnnSetStream(all->runner, (cudaStream_t)c->stream);
        if (said != CUDNN_STATUS_SUCCESS) return said;
        all->stream = c->stream;
    }
    return api->cudnnBackendExecute(all->runner, p->plan.plan, pack);
}
#endif
