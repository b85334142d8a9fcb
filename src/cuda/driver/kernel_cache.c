/* Compiled kernels on disk. */
#include "cuda/driver/kernel_cache.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/names.h"
#include "base/put_file.h"

static const char folder[] = "kernels";
static const char magic[8] = {'m', 't', 'f', 'k', 'e', 'r', 'n', '2'};

/* A file begins with this; the images follow. */
typedef struct cache_head {
    char      magic[8];
    cache_key key;
    uint64_t  hash; /* of the images */
    uint64_t  n, size[MOST_IMAGES];
} cache_head;

static uint64_t hash_images(const kernel_images *images)
{
    uint64_t h = 0;
    for (int k = 0; k < images->n; k++)
        h = hash_bytes(h, images->image[k].bytes, images->image[k].size);
    return h;
}

static bool read_images(FILE *from, arena *a, cache_key key, kernel_images *images)
{
    cache_head  head;
    struct stat about;
    TRY(fread(&head, sizeof head, 1, from) == 1 && fstat(fileno(from), &about) == 0);
    TRY(memcmp(head.magic, magic, sizeof magic) == 0 && memcmp(&head.key, &key, sizeof key) == 0);
    TRY(head.n <= MOST_IMAGES);
    uint64_t left = (uint64_t)about.st_size - sizeof head;
    images->n = (int)head.n;
    for (int k = 0; k < images->n; k++) {
        TRY(head.size[k] <= left);
        left -= head.size[k];
        void *bytes = arena_alloc(a, head.size[k]);
        TRY(bytes && fread(bytes, 1, head.size[k], from) == head.size[k]);
        images->image[k] = (struct kernel_image){bytes, head.size[k]};
    }
    return left == 0 && hash_images(images) == head.hash;
}

bool kernel_cache_read(arena *a, cache_key key, kernel_images *images)
{
    char path[CACHE_PATH];
    TRY(cache_path(folder, key, path));
    FILE *from = fopen(path, "rb");
    TRY(from);
    arena_mark before = arena_here(a);
    bool       ok = read_images(from, a, key, images);
    fclose(from);
    if (!ok) {
        arena_back(a, before);
        images->n = 0;
    }
    if (ok) cache_used(path);
    return ok;
}

void kernel_cache_write(cache_key key, const kernel_images *images)
{
    char       path[CACHE_PATH];
    fault      ignored = {0};
    cache_head head = {.key = key, .hash = hash_images(images), .n = (uint64_t)images->n};
    piece      pieces[MOST_IMAGES + 1] = {{&head, sizeof head}};
    if (!cache_path(folder, key, path)) return;
    memcpy(head.magic, magic, sizeof magic);
    for (int k = 0; k < images->n; k++) {
        head.size[k] = images->image[k].size;
        pieces[k + 1] = (piece){images->image[k].bytes, images->image[k].size};
    }
    cache_make_folders(path);
    if (put_file(&ignored, path, images->n + 1, pieces)) cache_trim(path);
}
