/* The library's plans for attention: one for each form, made beside other work. */
#include "machine/cuda/attention_plans.h"

#if MTF_HAVE_CUDNN
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "machine/cuda/kernel_cache.h"
#include "machine/cuda/side_job.h"

struct library_attentions {
    cudnnHandle_t    handle; /* NULL: the library is not there */
    CUstream         stream; /* the handle's */
    attention_plan **plans;
    int              nplans, plans_room;
    int              nmade;
    side_job         job; /* has the plans and the handle while it runs */
};

/* ---- one plan ---- */

/* Plans are kept on disk by all that they depend on. */
static cache_key key_of(const cuda_context *c, const attention_plan *p)
{
    static const char kind[] = "attention 1";
    uint64_t          version = c->device->api.dnn.cudnnGetVersion();
    cache_key         key = {{0, 1}};
    for (int k = 0; k < 2; k++) {
        uint64_t h = hash_bytes(key.hash[k], kind, sizeof kind);
        h = hash_bytes(h, &version, sizeof version);
        h = hash_bytes(h, c->card->name, strlen(c->card->name) + 1);
        h = hash_bytes(h, c->card->architecture, strlen(c->card->architecture) + 1);
        key.hash[k] = hash_bytes(h, &p->problem, sizeof p->problem);
    }
    return key;
}

static void make_anew(cuda_context *c, arena *a, attention_plan *p)
{
    const cuda_dnn *api = &c->device->api.dnn;
    dnn_graph       g = dnn_begin(api, c->attentions->handle);
    kernel_images   kept = {.n = 1};
    attention_graph(&g, &p->problem);
    p->plan = dnn_choose(&g, p->most);
    dnn_end(&g);
    if (!p->plan.plan) return;
    kept.image[0].bytes = dnn_write(api, a, &p->plan, &kept.image[0].size);
    if (kept.image[0].bytes) kernel_cache_write(key_of(c, p), &kept);
}

static void make(cuda_context *c, attention_plan *p)
{
    const cuda_dnn *api = &c->device->api.dnn;
    fault           ignored = {0};
    arena           a = arena_make(&c->device->face.session->allocator, &ignored);
    kernel_images   kept = {0};
    if (kernel_cache_read(&a, key_of(c, p), &kept) && kept.n == 1)
        p->plan = dnn_read(api, c->attentions->handle, kept.image[0].bytes, kept.image[0].size);
    if (p->plan.plan && p->plan.workspace > p->most) dnn_drop(api, &p->plan);
    if (!p->plan.plan) make_anew(c, &a, p);
    arena_free(&a);
}

/* ---- all of a processor ---- */

/* The library compiles for the card of the calling thread. */
static bool open_library(cuda_context *c)
{
    const cuda_dnn *api = &c->device->api.dnn;
    if (c->device->api.driver.cuCtxSetCurrent(c->card->context) != CUDA_SUCCESS) return false;
    if (c->attentions->handle) return true;
    if (api->cudnnCreate(&c->attentions->handle) == CUDNN_STATUS_SUCCESS) return true;
    c->attentions->handle = NULL;
    return false;
}

static void make_all(void *context)
{
    cuda_context       *c = context;
    library_attentions *all = c->attentions;
    if (!open_library(c)) return;
    for (; all->nmade < all->nplans; all->nmade++) make(c, all->plans[all->nmade]);
}

static attention_plan *find(const library_attentions *all, const attention_problem *p)
{
    for (int k = 0; k < all->nplans; k++)
        if (memcmp(&all->plans[k]->problem, p, sizeof *p) == 0) return all->plans[k];
    return NULL;
}

static bool add(cuda_context *c, const instr *i)
{
    library_attentions *all = c->attentions;
    attention_plan     *p;
    int64_t             most;
    attention_problem   wanted = library_attention_problem(i, &most);
    if (find(all, &wanted)) return true;
    TRY(arena_push(&c->arena, all->plans, all->nplans, all->plans_room));
    TRY(p = arena_new(&c->arena, attention_plan));
    p->problem = wanted;
    p->most = most;
    all->plans[all->nplans++] = p;
    return true;
}

/* Gradients were seen to be the same bits in every run on cards of this generation. */
static bool is_known(const cuda_card *k)
{
    return strncmp(k->architecture, "sm_90", 5) == 0;
}

/* MTF_NO_CUDNN: kernels of our own, to compare them. */
static bool is_wanted(cuda_context *c)
{
    const char *refused = getenv("MTF_NO_CUDNN");
    fault       ignored = {0};
    if (refused && *refused) return false;
    bool there;
    pthread_mutex_lock(&c->device->product_lock);
    there = is_known(c->card) && cuda_open_dnn(&c->device->api, &ignored);
    pthread_mutex_unlock(&c->device->product_lock);
    return there;
}

void library_attention_begin(cuda_context *c, const program *p)
{
    bool any = false;
    for (int k = 0; k < p->ninstrs; k++) any = any || library_attention_suits(&p->instrs[k]);
    if (!any || !is_wanted(c)) return;
    library_attention_wait(c);
    if (!c->attentions && !(c->attentions = arena_new(&c->arena, library_attentions))) return;
    library_attentions *all = c->attentions;
    for (int k = 0; k < p->ninstrs; k++)
        if (library_attention_suits(&p->instrs[k]) && !add(c, &p->instrs[k])) return;
    if (all->nmade < all->nplans) side_job_start(&all->job, make_all, c);
}

void library_attention_wait(cuda_context *c)
{
    if (c->attentions) side_job_wait(&c->attentions->job);
}

void library_attention_close(cuda_context *c)
{
    library_attentions *all = c->attentions;
    const cuda_dnn     *api = &c->device->api.dnn;
    if (!all) return;
    library_attention_wait(c);
    for (int k = 0; k < all->nplans; k++) dnn_drop(api, &all->plans[k]->plan);
    if (all->handle) api->cudnnDestroy(all->handle);
    c->attentions = NULL;
}

const attention_plan *attention_plan_find(cuda_context *c, const attention_problem *p)
{
    if (!c->attentions) return NULL;
    library_attention_wait(c);
    const attention_plan *found = find(c->attentions, p);
    return found && found->plan.plan ? found : NULL;
}

cudnnStatus_t attention_plan_run(cuda_context *c, const attention_plan *p, dnn_part pack)
{
    const cuda_dnn     *api = &c->device->api.dnn;
    library_attentions *all = c->attentions;
    if (all->stream != c->stream) { /* loops are recorded on queues of their own */
        cudnnStatus_t said = api->cudnnSetStream(all->handle, (cudaStream_t)c->stream);
        if (said != CUDNN_STATUS_SUCCESS) return said;
        all->stream = c->stream;
    }
    return api->cudnnBackendExecute(all->handle, p->plan.plan, pack);
}
#else
void library_attention_begin(cuda_context *c, const program *p)
{
    (void)c, (void)p;
}

void library_attention_wait(cuda_context *c)
{
    (void)c;
}

void library_attention_close(cuda_context *c)
{
    (void)c;
}
#endif
