/* The library's plans: one for each problem, made beside other work. */
#include "machine/cuda/dnn_plans.h"

#if MTF_HAVE_CUDNN
#include <errno.h>
#include <semaphore.h>
#include <string.h>

#include "base/names.h"
#include "machine/cuda/kernel_cache.h"
#include "machine/cuda/side_job.h"

struct dnn_made {
    dnn_request   request;
    cuda_context *context;
    side_job      job; /* has what follows while it runs */
    cudnnHandle_t handle;
    CUstream      stream; /* the handle's */
    dnn_plan      plan;   /* none: our kernels are taken */
};

enum { AT_ONCE = 8 }; /* plans that are made: a network may have hundreds of convolutions */

struct dnn_plans {
    dnn_made **plans;
    int        nplans, plans_room;
    sem_t      free; /* so many more may be made */
};

/* ---- one plan ---- */

static cache_key key_of(const cuda_context *c, const dnn_request *r)
{
    uint64_t  version = c->device->api.dnn.cudnnGetVersion();
    cache_key key = {{0, 1}};
    for (int k = 0; k < 2; k++) {
        uint64_t h = hash_bytes(key.hash[k], r->kind, strlen(r->kind) + 1);
        h = hash_bytes(h, &version, sizeof version);
        h = hash_bytes(h, c->card->name, strlen(c->card->name) + 1);
        h = hash_bytes(h, c->card->architecture, strlen(c->card->architecture) + 1);
        key.hash[k] = hash_bytes(h, r->problem, sizeof r->problem);
    }
    return key;
}

static void make_anew(const cuda_context *c, arena *a, dnn_made *p)
{
    const cuda_dnn *api = &c->device->api.dnn;
    dnn_graph       g = dnn_begin(api, p->handle);
    kernel_images   kept = {.n = 1};
    p->request.build(&g, p->request.problem);
    p->plan = dnn_choose(&g, p->request.limits);
    dnn_end(&g);
    if (!p->plan.plan) return;
    kept.image[0].bytes = dnn_write(api, a, &p->plan, &kept.image[0].size);
    if (kept.image[0].bytes) kernel_cache_write(key_of(c, &p->request), &kept);
}

static void make(const cuda_context *c, dnn_made *p)
{
    const cuda_dnn *api = &c->device->api.dnn;
    fault           ignored = {0};
    arena           a = arena_make(&c->device->face.session->allocator, &ignored);
    kernel_images   kept = {0};
    if (kernel_cache_read(&a, key_of(c, &p->request), &kept) && kept.n == 1)
        p->plan = dnn_read(api, p->handle, kept.image[0].bytes, kept.image[0].size);
    if (p->plan.plan && p->plan.workspace > p->request.limits.workspace) dnn_drop(api, &p->plan);
    if (!p->plan.plan) make_anew(c, &a, p);
    arena_free(&a);
}

/* A handle belongs to the card of the calling thread. */
static void make_with_handle(dnn_made *p)
{
    const cuda_api *api = &p->context->device->api;
    if (api->driver.cuCtxSetCurrent(p->context->card->context) != CUDA_SUCCESS) return;
    if (api->dnn.cudnnCreate(&p->handle) == CUDNN_STATUS_SUCCESS)
        make(p->context, p);
    else
        p->handle = NULL;
}

static void make_beside(void *context)
{
    dnn_made *p = context;
    sem_t    *wait = &p->context->plans->free;
    while (sem_wait(wait) != 0 && errno == EINTR) continue;
    make_with_handle(p);
    sem_post(wait);
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
    sem_init(&c->plans->free, 0, AT_ONCE);
    return true;
}

bool dnn_plans_begin(cuda_context *c, const dnn_request *r)
{
    dnn_plans *all = c->plans;
    dnn_made  *made;
    if (find(c, r)) return true;
    TRY(arena_push(&c->arena, all->plans, all->nplans, all->plans_room));
    TRY(made = arena_new(&c->arena, dnn_made));
    *made = (dnn_made){.request = *r, .context = c};
    all->plans[all->nplans++] = made;
    side_job_start(&made->job, make_beside, made);
    return true;
}

bool dnn_plans_is_begun(const cuda_context *c, const dnn_request *r)
{
    return find(c, r) != NULL;
}

void dnn_plans_close(cuda_context *c)
{
    const cuda_dnn *api = &c->device->api.dnn;
    for (int k = 0; c->plans && k < c->plans->nplans; k++) {
        dnn_made *p = c->plans->plans[k];
        side_job_wait(&p->job);
        dnn_drop(api, &p->plan);
        if (p->handle) api->cudnnDestroy(p->handle);
    }
    if (c->plans) sem_destroy(&c->plans->free);
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
    if (p->stream != c->stream) { /* loops are recorded on queues of their own */
        cudnnStatus_t said = api->cudnnSetStream(p->handle, (cudaStream_t)c->stream);
        if (said != CUDNN_STATUS_SUCCESS) return said;
        p->stream = c->stream;
    }
    return api->cudnnBackendExecute(p->handle, p->plan.plan, pack);
}
#endif
