/* The text of kernels to what a card loads, kept on disk. */
#include "machine/cuda/kernel_compile.h"

#include <stdio.h>
#include <string.h>

#include "base/cores.h"
#include "base/names.h"
#include "base/thread.h"
#include "machine/cuda/kernel_cache.h"
#include "machine/cuda/prelude_assets.h"

enum {
    PART_WORTH = 8,  /* kernels: a part takes about as long for the prelude as for this many */
    MOST_SAID = 600, /* characters of the compiler's own words in a message */
};

/* Products and sums that are written apart are rounded apart, as on the host. */
static const char *const options[] = {"--std=c++17", "--fmad=false", "--diag-suppress=177"};
enum { OPTIONS = sizeof options / sizeof *options };

typedef struct part {
    const cuda_api      *api;
    const mtf_allocator *from;
    const char          *architecture, *scalars;
    char                *text;  /* with the prelude; a block */
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
         n->nvrtcGetErrorString(result), MOST_SAID, error ? error : log ? log : "");
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
        fail(&p->fault, ERR_DEVICE, "the compiler of kernels cannot begin: %s",
             n->nvrtcGetErrorString(result));
        return NULL;
    }
    compile_program(p, program);
    n->nvrtcDestroyProgram(&program);
    return NULL;
}

/* ---- all parts ---- */

static const char kernel_word[] = "\nKERNEL ";

static int count_kernels(const char *text)
{
    int n = 1;
    for (const char *at = text; (at = strstr(at, kernel_word)); at++) n++;
    return n;
}

/* Parts of about the same length, each of whole kernels. */
static const char *end_of_part(const char *begin, int left)
{
    size_t      rest = strlen(begin);
    const char *at = left == 1 ? NULL : strstr(begin + rest / (size_t)left, kernel_word);
    return at ? at + 1 : begin + rest;
}

/* What kernels of attention are written in, after the prelude. */
static const struct {
    const unsigned char *bytes;
    const size_t        *size;
} of_attention[] = {
    {asset_attention, &asset_attention_bytes},
    {asset_attention_grad, &asset_attention_grad_bytes},
    {asset_attention_matrix, &asset_attention_matrix_bytes},
    {asset_attention_matrix_grad, &asset_attention_matrix_grad_bytes},
};
enum { OF_ATTENTION = sizeof of_attention / sizeof *of_attention };

static size_t put(char *to, size_t at, const void *from, size_t bytes)
{
    if (to) memcpy(to + at, from, bytes);
    return at + bytes;
}

/* The whole text of a part; its length with a zero byte. */
static size_t put_all(char *to, const char *begin, const char *end)
{
    const char *attends = strstr(begin, "attention_");
    size_t      at = put(to, 0, asset_prelude, asset_prelude_bytes);
    for (int k = 0; k < OF_ATTENTION && attends && attends < end; k++)
        at = put(to, at, of_attention[k].bytes, *of_attention[k].size);
    at = put(to, at, begin, (size_t)(end - begin));
    return put(to, at, "", 1);
}

static bool set_up(part *p, fault *f, const char *begin, const char *end)
{
    TRY(p->text = block_alloc(p->from, f, put_all(NULL, begin, end), false));
    put_all(p->text, begin, end);
    return true;
}

/* The first part is compiled in the calling thread, as are those for which the system has no other. */
static bool compile_all(part *parts, int n, fault *f, arena *a, kernel_images *images)
{
    for (int k = 1; k < n; k++)
        parts[k].started = thread_start(&parts[k].thread, compile_part, &parts[k]);
    for (int k = 0; k < n; k++)
        if (!parts[k].started) compile_part(&parts[k]);
    for (int k = 0; k < n; k++) {
        if (parts[k].started) pthread_join(parts[k].thread, NULL);
        if (parts[k].fault.kind) fault_take(f, parts[k].fault.kind, parts[k].fault.text);
    }
    for (int k = 0; k < n && !f->kind; k++) {
        void *kept = arena_copy(a, parts[k].image, parts[k].size);
        images->image[images->n++] = (struct kernel_image){kept, parts[k].size};
    }
    return !f->kind;
}

static cache_key key_of(const cuda_api *api, const char *text, const char *architecture)
{
    cache_key key = {{0, 1}};
    int       version[2] = {0};
    api->nvrtc.nvrtcVersion(&version[0], &version[1]);
    for (int k = 0; k < 2; k++) {
        uint64_t h = hash_bytes(key.hash[k], version, sizeof version);
        h = hash_bytes(h, architecture, strlen(architecture) + 1);
        for (int o = 0; o < OPTIONS; o++) h = hash_bytes(h, options[o], strlen(options[o]) + 1);
        h = hash_bytes(h, asset_prelude, asset_prelude_bytes);
        h = hash_bytes(h, asset_scalars, asset_scalars_bytes);
        for (int o = 0; o < OF_ATTENTION; o++)
            h = hash_bytes(h, of_attention[o].bytes, *of_attention[o].size);
        key.hash[k] = hash_bytes(h, text, strlen(text));
    }
    return key;
}

bool kernel_compile(const cuda_api *api, fault *f, arena *a, const char *text,
                    const char *architecture, kernel_images *images)
{
    part      parts[MOST_IMAGES] = {0};
    cache_key key = key_of(api, text, architecture);
    images->n = 0;
    if (!*text || kernel_cache_read(a, key, images)) return !f->kind;

    char *scalars = block_alloc(a->from, f, asset_scalars_bytes + 1, true);
    bool  ok = scalars != NULL;
    int   cores = cores_count(), n = count_kernels(text) / PART_WORTH;
    n = n > cores ? cores : n;
    n = n > MOST_IMAGES ? MOST_IMAGES : n < 1 ? 1 : n;
    if (scalars) memcpy(scalars, asset_scalars, asset_scalars_bytes);
    for (int k = 0; k < n && ok; k++) {
        const char *end = end_of_part(text, n - k);
        parts[k] = (part){
            .api = api, .from = a->from, .architecture = architecture, .scalars = scalars};
        ok = set_up(&parts[k], f, text, end);
        text = end;
    }
    ok = ok && compile_all(parts, n, f, a, images);
    for (int k = 0; k < n; k++) {
        block_free(a->from, parts[k].text);
        block_free(a->from, parts[k].image);
    }
    block_free(a->from, scalars);
    if (ok) kernel_cache_write(key, images);
    return ok;
}
