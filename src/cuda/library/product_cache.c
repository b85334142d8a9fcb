/* Chosen algorithms of matrix products on disk. */
#include "cuda/library/product_cache.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/put_file.h"
#include "cuda/driver/cache_folder.h"

static const char folder[] = "products";
static const char magic[8] = {'m', 't', 'f', 'p', 'r', 'o', 'd', '2'};

/* What a choice holds for. */
typedef struct choice_for {
    char        magic[8];
    char        gpu[sizeof((cuda_gpu *)0)->name + 4]; /* to a multiple of eight */
    uint64_t    library;                              /* its version */
    product_key key;
} choice_for;

typedef struct kept_choice {
    choice_for           what;
    cublasLtMatmulAlgo_t algorithm;
    uint64_t             refused; /* 1: it is made in parts */
    uint64_t             hash;    /* of all before it */
} kept_choice;

static choice_for choice_for_of(const cuda_context *c, const product_key *k)
{
    choice_for f = {.library = c->device->api.products.cublasLtGetVersion(), .key = *k};
    memcpy(f.magic, magic, sizeof magic);
    memcpy(f.gpu, c->gpu->name, strlen(c->gpu->name));
    return f;
}

static bool path_of(const choice_for *what, char path[CACHE_PATH])
{
    cache_key key = {{hash_bytes(0, what, sizeof *what), hash_bytes(1, what, sizeof *what)}};
    return cache_path(folder, key, path);
}

static uint64_t hash_of(const kept_choice *k)
{
    return hash_bytes(0, k, offsetof(kept_choice, hash));
}

static bool read_choice(const char *path, const choice_for *what, product_call *to)
{
    kept_choice k;
    FILE       *from = fopen(path, "rb");
    TRY(from);
    bool whole = fread(&k, sizeof k, 1, from) == 1 && fgetc(from) == EOF;
    fclose(from);
    TRY(whole && k.hash == hash_of(&k) && memcmp(&k.what, what, sizeof *what) == 0);
    to->algorithm = k.algorithm;
    to->refused = k.refused;
    cache_used(path);
    return true;
}

bool product_cache_exists(void)
{
    char path[CACHE_PATH];
    return cache_path(folder, (cache_key){{0, 0}}, path);
}

bool product_cache_read(const cuda_context *c, product_call *p)
{
    char       path[CACHE_PATH];
    choice_for what = choice_for_of(c, &p->key);
    return path_of(&what, path) && read_choice(path, &what, p);
}

bool product_cache_settle(const cuda_context *c, product_call *p)
{
    char        path[CACHE_PATH];
    fault       ignored = {0};
    kept_choice mine = {
        .what = choice_for_of(c, &p->key), .algorithm = p->algorithm, .refused = p->refused};
    piece whole = {&mine, sizeof mine};
    mine.hash = hash_of(&mine);
    TRY(path_of(&mine.what, path));
    cache_make_folders(path);
    bool first = cache_put_first(path, &whole);
    if (first) cache_trim(path);
    if (first || read_choice(path, &mine.what, p)) return true;
    return put_file(&ignored, path, 1, &whole); /* what was there is damaged */
}
