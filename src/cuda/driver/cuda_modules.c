/* Kernels on a GPU: compiled and loaded once, found by name.
 *
 * A module stays loaded after its programs have ended, since others often have the same kernels.  Where
 * there are more modules than the limit, those that no program holds are unloaded, the least recently
 * used ones first.
 */
#include "cuda/driver/cuda_modules.h"

#include <string.h>

#include "cuda/driver/cuda_device.h"
#include "cuda/driver/cuda_use.h"

typedef struct named_kernel {
    uint64_t    hash; /* of the name */
    const char *name;
    CUfunction  function;
} named_kernel;

struct kernel_module {
    CUmodule      module;
    arena         arena; /* of what follows */
    named_kernel *kernels;
    int           n, room;
    int64_t       holders; /* programs that use it, several times where they say so */
    int64_t       used;    /* when it was held last, by the GPU's clock */
};

/* ---- finding ---- */

static const named_kernel *find_in(const kernel_module *m, const char *name, uint64_t hash)
{
    for (int i = 0; i < m->n; i++)
        if (m->kernels[i].hash == hash && strcmp(m->kernels[i].name, name) == 0)
            return &m->kernels[i];
    return NULL;
}

/* The module that has it; NULL: none. */
static kernel_module *find_module(const cuda_gpu *k, const char *name, CUfunction *function)
{
    uint64_t hash = hash_text(name);
    for (int m = k->nmodules - 1; m >= 0; m--) {
        const named_kernel *found = find_in(k->modules[m], name, hash);
        if (!found) continue;
        *function = found->function;
        return k->modules[m];
    }
    return NULL;
}

CUfunction cuda_kernel(cuda_context *c, const char *name)
{
    CUfunction f = NULL;
    pthread_mutex_lock(&c->gpu->lock);
    find_module(c->gpu, name, &f);
    pthread_mutex_unlock(&c->gpu->lock);
    return f;
}

/* The text of those that the GPU does not have yet; NULL: it has all. */
static const char *missing_text(const cuda_gpu *k, const kernel_source *s)
{
    textbuf    t = {.arena = s->arena};
    CUfunction f;
    for (int i = 0; i < s->nkernels; i++)
        if (!find_module(k, s->kernels[i].name, &f)) text_add(&t, "%s", s->kernels[i].text);
    return t.used ? text_done(&t) : NULL;
}

/* ---- loading ---- */

static void unload(cuda_device *d, kernel_module *m)
{
    d->api.driver.cuModuleUnload(m->module);
    arena_free(&m->arena);
    block_free(&d->face.session->allocator, m);
}

/* A module has some of the kernels. */
static bool take_functions(cuda_context *c, const kernel_source *s, kernel_module *m)
{
    for (int i = 0; i < s->nkernels; i++) {
        const char *name = s->kernels[i].name;
        CUfunction  f;
        if (find_module(c->gpu, name, &f)) continue;
        CUresult found = c->device->api.driver.cuModuleGetFunction(&f, m->module, name);
        if (found == CUDA_ERROR_NOT_FOUND) continue;
        TRY(cuda_ok(&c->device->api, cuda_fault(c), found, "find a kernel"));
        TRY(arena_push(&m->arena, m->kernels, m->n, m->room));
        m->kernels[m->n] = (named_kernel){hash_text(name), arena_text(&m->arena, name), f};
        TRY(m->kernels[m->n++].name != NULL);
    }
    return true;
}

static bool take_image(cuda_context *c, const kernel_source *s, const void *bytes)
{
    mtf_session *session = c->device->face.session;
    cuda_gpu    *k = c->gpu;
    TRY(arena_push(&k->arena, k->modules, k->nmodules, k->modules_room));
    kernel_module *m = block_alloc(&session->allocator, &session->fault, sizeof *m, true);
    TRY(m != NULL);
    m->arena = arena_make(&session->allocator, &session->fault);
    m->used = k->clock;
    if (!cuda_ok(&c->device->api, cuda_fault(c),
                 c->device->api.driver.cuModuleLoadData(&m->module, bytes), "load kernels")) {
        block_free(&session->allocator, m);
        return false;
    }
    bool ok = take_functions(c, s, m);
    k->modules[k->nmodules++] = m;
    return ok;
}

bool cuda_start_missing(cuda_context *c, kernel_source *s, kernel_job **job)
{
    *job = NULL;
    pthread_mutex_lock(&c->gpu->lock);
    const char *text = missing_text(c->gpu, s);
    pthread_mutex_unlock(&c->gpu->lock);
    if (!text) return !s->arena->fault->kind;
    *job =
        kernel_compile_start(&c->device->api, cuda_fault(c), s->arena, text, c->gpu->architecture);
    return *job != NULL;
}

/* ---- holding ---- */

/* Unloads what no program holds, while there are more than the limit. */
static void trim(cuda_context *c)
{
    cuda_gpu *k = c->gpu;
    while (k->nmodules > c->device->most.modules) {
        int oldest = -1;
        for (int m = 0; m < k->nmodules; m++)
            if (k->modules[m]->holders == 0 &&
                (oldest < 0 || k->modules[m]->used < k->modules[oldest]->used))
                oldest = m;
        if (oldest < 0) return;
        unload(c->device, k->modules[oldest]);
        k->modules[oldest] = k->modules[--k->nmodules];
    }
}

static bool hold(cuda_gpu *k, kernel_module *m, kernel_hold *h)
{
    m->used = k->clock;
    for (int i = 0; h && i < h->n; i++)
        if (h->modules[i] == m) return true;
    if (h) {
        TRY(arena_push(h->arena, h->modules, h->n, h->room));
        h->modules[h->n++] = m;
    }
    m->holders++;
    return true;
}

/* *all: the GPU has all of them. */
static bool hold_all(cuda_gpu *k, const kernel_source *s, kernel_hold *h, bool *all)
{
    *all = true;
    k->clock++;
    for (int i = 0; i < s->nkernels; i++) {
        CUfunction     f;
        kernel_module *m = find_module(k, s->kernels[i].name, &f);
        if (m)
            TRY(hold(k, m, h));
        else
            *all = false;
    }
    return true;
}

/* Loads what was compiled, and holds what is there, at once: so that it stays there. */
static bool load_and_hold(cuda_context *c, kernel_source *s, const kernel_images *images,
                          kernel_hold *h, bool *all)
{
    bool ok = true;
    pthread_mutex_lock(&c->gpu->lock);
    for (int n = 0; ok && n < images->n; n++) ok = take_image(c, s, images->image[n].bytes);
    ok = ok && hold_all(c->gpu, s, h, all);
    trim(c);
    pthread_mutex_unlock(&c->gpu->lock);
    return ok;
}

/* What the GPU had when compiling began may have been unloaded since: that is compiled again. */
bool cuda_load_compiled(cuda_context *c, kernel_source *s, kernel_job *job, kernel_hold *h)
{
    for (bool all = false;;) {
        kernel_images images = {0};
        TRY((!job || kernel_compile_finish(job, &images)) && cuda_use(c));
        TRY(load_and_hold(c, s, &images, h, &all));
        if (all) return true;
        TRY(cuda_start_missing(c, s, &job));
    }
}

bool cuda_load_kernels(cuda_context *c, kernel_source *s, kernel_hold *h)
{
    kernel_job *job;
    return cuda_start_missing(c, s, &job) && cuda_load_compiled(c, s, job, h);
}

void cuda_let_kernels(cuda_context *c, kernel_hold *h)
{
    pthread_mutex_lock(&c->gpu->lock);
    while (h->n > 0) h->modules[--h->n]->holders--;
    trim(c);
    pthread_mutex_unlock(&c->gpu->lock);
}

void cuda_unload_kernels(cuda_device *d, cuda_gpu *k)
{
    while (k->nmodules) unload(d, k->modules[--k->nmodules]);
    if (k->loop_module) d->api.driver.cuModuleUnload(k->loop_module);
    k->loop_module = NULL;
}
