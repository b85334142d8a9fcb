/* The text of kernels to what a GPU loads, kept on disk. */
#include "cuda/driver/kernel_compile.h"

#include <stdio.h>
#include <string.h>

#include "base/cores.h"
#include "base/names.h"
#include "base/thread.h"
#include "cuda/driver/kernel_cache.h"
#include "cuda/driver/kernel_parts.h"
#include "cuda/write/prelude_assets.h"

enum { MOST_SAID = 600 }; /* characters of the compiler's own words in a message */

/* Products and sums that are written apart are rounded apart, as on the host. */
static const char *const options[] = {"--std=c++17", "--fmad=false", "--diag-suppress=177"};
enum { OPTIONS = sizeof options / sizeof *options };

typedef struct part {
    const cuda_api      *api;
    const mtf_allocator *from;
    const char          *architecture, *scalars;
    const char          *text;
    char                *image; /* a block */
    size_t               size;
    fault                fault;
    pthread_t            thread;
    bool                 started;
} part;

/* ---- one part ---- */

/* The first error and some of what follows it. */
static void report(part *p, nvrtcProgram program, nvrtcResult result)
{
    const cuda_nvrtc *n = &p->api->nvrtc;
    size_t            bytes = 0;
    char             *log = NULL;
    if (n->nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS && bytes > 1)
        log = block_alloc(p->from, &p->fault, bytes + 1, true);
    if (log) n->nvrtcGetProgramLog(program, log);
    const char *error = log ? strstr(log, "error") : NULL;
    while (error && error > log && error[-1] != '\n') error--;
    fail(&p->fault, ERR_DEVICE, "the kernels could not be compiled (%s): %.*s",
         n->nvrtcGetErrorString(result), MOST_SAID,
         error ? error
         : log ? log
               : "");
    block_free(p->from, log);
}

static bool compile_program(part *p, nvrtcProgram program)
{
    const cuda_nvrtc *n = &p->api->nvrtc;
    char              architecture[60];
    const char       *all[OPTIONS + 1] = {architecture};
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", p->architecture);
    for (int k = 0; k < OPTIONS; k++) all[k + 1] = options[k];
    nvrtcResult result = n->nvrtcCompileProgram(program, OPTIONS + 1, all);
    if (result == NVRTC_SUCCESS) result = n->nvrtcGetCUBINSize(program, &p->size);
    if (result == NVRTC_SUCCESS) {
        TRY(p->image = block_alloc(p->from, &p->fault, p->size, false));
        result = n->nvrtcGetCUBIN(program, p->image);
    }
    if (result != NVRTC_SUCCESS) report(p, program, result);
    return result == NVRTC_SUCCESS;
}

static void *compile_part(void *context)
{
    part             *p = context;
    const cuda_nvrtc *n = &p->api->nvrtc;
    nvrtcProgram      program = NULL;
    const char       *headers[] = {p->scalars}, *names[] = {"program/scalars.h"};
    nvrtcResult result = n->nvrtcCreateProgram(&program, p->text, "kernels.cu", 1, headers, names);
    if (result != NVRTC_SUCCESS) {
        fail(&p->fault, ERR_DEVICE, "NVRTC cannot be started: %s", n->nvrtcGetErrorString(result));
        return NULL;
    }
    compile_program(p, program);
    n->nvrtcDestroyProgram(&program);
    return NULL;
}

/* ---- all parts ---- */

struct kernel_job {
    fault        *fault;
    arena        *arena;
    cache_key     key;
    kernel_images images; /* where the cache had them */
    char         *scalars;
    int           n;
    char         *texts[MOST_IMAGES]; /* blocks */
    part          parts[MOST_IMAGES];
};

static cache_key key_of(const cuda_api *api, const char *text, const char *architecture)
{
    cache_key   key = {{0, 1}};
    int         version[2] = {0};
    const void *before;
    size_t      bytes;
    api->nvrtc.nvrtcVersion(&version[0], &version[1]);
    for (int k = 0; k < 2; k++) {
        uint64_t h = hash_bytes(key.hash[k], version, sizeof version);
        h = hash_bytes(h, architecture, strlen(architecture) + 1);
        for (int o = 0; o < OPTIONS; o++) h = hash_bytes(h, options[o], strlen(options[o]) + 1);
        h = hash_bytes(h, asset_scalars, asset_scalars_bytes);
        for (int o = 0; (before = kernel_before(o, &bytes)); o++) h = hash_bytes(h, before, bytes);
        key.hash[k] = hash_bytes(h, text, strlen(text));
    }
    return key;
}

/* One core is left to the caller, who has other things to do. */
static int most_parts(void)
{
    int cores = cores_count() - 1;
    return cores < 2 ? 2 : cores > MOST_IMAGES ? MOST_IMAGES : cores;
}

static bool start_parts(kernel_job *j, const cuda_api *api, const char *text,
                        const char *architecture)
{
    arena *a = j->arena;
    TRY(j->scalars = arena_alloc(a, asset_scalars_bytes + 1));
    memcpy(j->scalars, asset_scalars, asset_scalars_bytes);
    int n = kernel_parts_of(text, most_parts(), a, j->texts);
    TRY(n > 0);
    for (j->n = 0; j->n < n; j->n++) {
        part *p = &j->parts[j->n];
        *p = (part){.api = api,
                    .from = a->from,
                    .architecture = architecture,
                    .scalars = j->scalars,
                    .text = j->texts[j->n]};
        p->started = thread_start(&p->thread, compile_part, p);
    }
    return true;
}

static void free_parts(kernel_job *j)
{
    for (int k = 0; k < MOST_IMAGES; k++) {
        block_free(j->arena->from, j->texts[k]);
        block_free(j->arena->from, j->parts[k].image);
    }
}

kernel_job *kernel_compile_start(const cuda_api *api, fault *f, arena *a, const char *text,
                                 const char *architecture)
{
    kernel_job *j = arena_new(a, kernel_job);
    if (!j) return NULL;
    j->fault = f;
    j->arena = a;
    j->key = key_of(api, text, architecture);
    if (!*text || kernel_cache_read(a, j->key, &j->images)) return j;
    if (!f->kind && start_parts(j, api, text, architecture)) return j;
    free_parts(j);
    return NULL;
}

/* Parts for which no thread could be started are compiled here. */
bool kernel_compile_finish(kernel_job *j, kernel_images *images)
{
    *images = j->images;
    for (int k = 0; k < j->n; k++) {
        part *p = &j->parts[k];
        if (p->started)
            pthread_join(p->thread, NULL);
        else
            compile_part(p);
        if (p->fault.kind) fault_take(j->fault, p->fault.kind, p->fault.text);
    }
    bool ok = !j->fault->kind;
    for (int k = 0; k < j->n && ok; k++) {
        void *kept = arena_copy(j->arena, j->parts[k].image, j->parts[k].size);
        images->image[images->n++] = (struct kernel_image){kept, j->parts[k].size};
        ok = kept != NULL;
    }
    free_parts(j);
    if (ok && j->n) kernel_cache_write(j->key, images);
    return ok;
}

bool kernel_compile(const cuda_api *api, fault *f, arena *a, const char *text,
                    const char *architecture, kernel_images *images)
{
    kernel_job *j = kernel_compile_start(api, f, a, text, architecture);
    images->n = 0;
    return j && kernel_compile_finish(j, images);
}
