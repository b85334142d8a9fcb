/* The library's plans for attention: one for each form, made beside other work. */
#include "machine/cuda/attention_plans.h"

#if MTF_HAVE_CUDNN
#include <string.h>

#include "base/names.h"
#include "machine/cuda/kernel_cache.h"

struct library_attentions {
    attention_plan **plans;
    int              nplans, plans_room;
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

static void make_anew(const cuda_context *c, arena *a, attention_plan *p)
{
    const cuda_dnn *api = &c->device->api.dnn;
    dnn_graph       g = dnn_begin(api, p->handle);
    kernel_images   kept = {.n = 1};
    attention_graph(&g, &p->problem);
    p->plan = dnn_choose(&g, p->most);
    dnn_end(&g);
    if (!p->plan.plan) return;
    kept.image[0].bytes = dnn_write(api, a, &p->plan, &kept.image[0].size);
    if (kept.image[0].bytes) kernel_cache_write(key_of(c, p), &kept);
}

static void make(const cuda_context *c, attention_plan *p)
{
    const cuda_dnn *api = &c->device->api.dnn;
    fault           ignored = {0};
    arena           a = arena_make(&c->device->face.session->allocator, &ignored);
    kernel_images   kept = {0};
    if (kernel_cache_read(&a, key_of(c, p), &kept) && kept.n == 1)
        p->plan = dnn_read(api, p->handle, kept.image[0].bytes, kept.image[0].size);
    if (p->plan.plan && p->plan.workspace > p->most) dnn_drop(api, &p->plan);
    if (!p->plan.plan) make_anew(c, &a, p);
    arena_free(&a);
}

/* A handle belongs to the card of the calling thread. */
static void make_beside(void *context)
{
    attention_plan *p = context;
    const cuda_api *api = &p->context->device->api;
    if (api->driver.cuCtxSetCurrent(p->context->card->context) != CUDA_SUCCESS) return;
    if (api->dnn.cudnnCreate(&p->handle) == CUDNN_STATUS_SUCCESS)
        make(p->context, p);
    else
        p->handle = NULL;
}

/* ---- all of a processor ---- */

static attention_plan *find(const library_attentions *all, const attention_problem *p)
{
    for (int k = 0; k < all->nplans; k++)
        if (memcmp(&all->plans[k]->problem, p, sizeof *p) == 0) return all->plans[k];
    return NULL;
}

static bool add(cuda_context *c, const instr *i)
{
    library_attentions *all = c->attentions;
    attention_plan     *made;
    int64_t             most;
    attention_problem   wanted = library_attention_problem(i, &most);
    if (find(all, &wanted)) return true;
    TRY(arena_push(&c->arena, all->plans, all->nplans, all->plans_room));
    TRY(made = arena_new(&c->arena, attention_plan));
    *made = (attention_plan){.problem = wanted, .most = most, .context = c};
    all->plans[all->nplans++] = made;
    side_job_start(&made->job, make_beside, made);
    return true;
}

/* Gradients were seen to be the same bits in every run on cards of this generation. */
static bool is_known(const cuda_card *k)
{
    return strncmp(k->architecture, "sm_90", 5) == 0;
}

static bool is_there(cuda_context *c)
{
    fault ignored = {0};
    TRY(is_known(c->card));
    pthread_mutex_lock(&c->device->product_lock); /* processors share the table of functions */
    bool there = cuda_open_dnn(&c->device->api, &ignored);
    pthread_mutex_unlock(&c->device->product_lock);
    return there;
}

void library_attention_begin(cuda_context *c, const program *p)
{
    bool any = false;
    for (int k = 0; k < p->ninstrs; k++) any = any || library_attention_suits(&p->instrs[k]);
    if (!any || !is_there(c)) return;
    if (!c->attentions && !(c->attentions = arena_new(&c->arena, library_attentions))) return;
    for (int k = 0; k < p->ninstrs; k++)
        if (library_attention_suits(&p->instrs[k]) && !add(c, &p->instrs[k])) return;
}

bool library_attention_is_begun(const cuda_context *c, const instr *i)
{
    int64_t most;
    if (!c->attentions || !library_attention_suits(i)) return false;
    attention_problem p = library_attention_problem(i, &most);
    return find(c->attentions, &p) != NULL;
}

void library_attention_close(cuda_context *c)
{
    library_attentions *all = c->attentions;
    const cuda_dnn     *api = &c->device->api.dnn;
    if (!all) return;
    for (int k = 0; k < all->nplans; k++) {
        attention_plan *p = all->plans[k];
        side_job_wait(&p->job);
        dnn_drop(api, &p->plan);
        if (p->handle) api->cudnnDestroy(p->handle);
    }
    c->attentions = NULL;
}

attention_plan *attention_plan_find(cuda_context *c, const attention_problem *p)
{
    attention_plan *found = c->attentions ? find(c->attentions, p) : NULL;
    if (found) side_job_wait(&found->job);
    return found && found->plan.plan ? found : NULL;
}

cudnnStatus_t attention_plan_run(cuda_context *c, attention_plan *p, dnn_part pack)
{
    const cuda_dnn *api = &c->device->api.dnn;
    if (p->stream != c->stream) { /* loops are recorded on queues of their own */
        cudnnStatus_t said = api->cudnnSetStream(p->handle, (cudaStream_t)c->stream);
        if (said != CUDNN_STATUS_SUCCESS) return said;
        p->stream = c->stream;
    }
    return api->cudnnBackendExecute(p->handle, p->plan.plan, pack);
}
#else
void library_attention_begin(cuda_context *c, const program *p)
{
    (void)c, (void)p;
}

void library_attention_close(cuda_context *c)
{
    (void)c;
}

bool library_attention_is_begun(const cuda_context *c, const instr *i)
{
    (void)c, (void)i;
    return false;
}
#endif
