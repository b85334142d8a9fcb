/* Kernels on a card: compiled and loaded once, found by name. */
#include "machine/cuda/cuda_device.h"

CUfunction cuda_kernel(cuda_context *c, const char *name)
{
    pthread_mutex_lock(&c->card->lock);
    CUfunction f = names_get(&c->card->kernels, name);
    pthread_mutex_unlock(&c->card->lock);
    return f;
}

/* The text of those that the card does not have yet; NULL: it has all. */
static const char *missing_text(const cuda_card *k, const kernel_source *s)
{
    textbuf t = {.arena = s->arena};
    for (int i = 0; i < s->nkernels; i++)
        if (!names_get(&k->kernels, s->kernels[i].name)) text_add(&t, "%s", s->kernels[i].text);
    return t.used ? text_done(&t) : NULL;
}

/* A module has some of the kernels. */
static bool take_functions(cuda_context *c, const kernel_source *s, CUmodule module)
{
    cuda_card *k = c->card;
    for (int i = 0; i < s->nkernels; i++) {
        CUfunction f;
        if (names_get(&k->kernels, s->kernels[i].name)) continue;
        CUresult found = c->device->api.driver.cuModuleGetFunction(&f, module, s->kernels[i].name);
        if (found == CUDA_ERROR_NOT_FOUND) continue;
        char *name = arena_text(&k->arena, s->kernels[i].name);
        TRY(cuda_ok(&c->device->api, cuda_fault(c), found, "find a kernel"));
        TRY(name && names_put(&k->kernels, name, f));
    }
    return true;
}

static bool take_images(cuda_context *c, const kernel_source *s, const kernel_images *images)
{
    cuda_card *k = c->card;
    for (int n = 0; n < images->n; n++) {
        CUmodule module;
        TRY(arena_push(&k->arena, k->modules, k->nmodules, k->modules_room));
        CUDA_TRY(c, cuModuleLoadData(&module, images->image[n].bytes), "load kernels");
        k->modules[k->nmodules++] = module;
        TRY(take_functions(c, s, module));
    }
    return true;
}

bool cuda_start_missing(cuda_context *c, kernel_source *s, kernel_job **job)
{
    *job = NULL;
    pthread_mutex_lock(&c->card->lock);
    const char *text = missing_text(c->card, s);
    pthread_mutex_unlock(&c->card->lock);
    if (!text) return !s->arena->fault->kind;
    *job =
        kernel_compile_start(&c->device->api, cuda_fault(c), s->arena, text, c->card->architecture);
    return *job != NULL;
}

bool cuda_load_compiled(cuda_context *c, kernel_source *s, kernel_job *job)
{
    kernel_images images;
    TRY(kernel_compile_finish(job, &images) && cuda_use(c));
    pthread_mutex_lock(&c->card->lock);
    bool ok = take_images(c, s, &images);
    pthread_mutex_unlock(&c->card->lock);
    return ok;
}

bool cuda_load_kernels(cuda_context *c, kernel_source *s)
{
    kernel_job *job;
    return cuda_start_missing(c, s, &job) && (!job || cuda_load_compiled(c, s, job));
}

void cuda_unload_kernels(cuda_device *d, cuda_card *k)
{
    while (k->nmodules) d->api.driver.cuModuleUnload(k->modules[--k->nmodules]);
}
