/* Deletes the files of a cache folder that were not used lately. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/byte_list.h"
#include "cuda/driver/cache_folder.h"

enum { NAME = 32 }; /* hexadecimal digits */

typedef struct cached_file {
    char            name[NAME + 1];
    struct timespec used;
} cached_file;

typedef struct file_list {
    cached_file *files;
    int64_t      n, room;
} file_list;

void cache_used(const char *path)
{
    utimensat(AT_FDCWD, path, NULL, 0);
}

/* What else is there is not ours, or is being written. */
static bool is_ours(const char *name)
{
    return strlen(name) == NAME && strspn(name, "0123456789abcdef") == NAME;
}

static bool add_file(file_list *l, const char *name)
{
    cached_file *files = list_grow(NULL, NULL, l->files, sizeof *files, l->n, l->n + 1, &l->room);
    TRY(files != NULL);
    l->files = files;
    memcpy(l->files[l->n++].name, name, NAME + 1);
    return true;
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const cached_file *)a)->used,
                          *y = &((const cached_file *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static void delete_oldest(int folder, file_list *l)
{
    struct stat about;
    for (int64_t k = 0; k < l->n; k++) {
        bool found = fstatat(folder, l->files[k].name, &about, 0) == 0;
        l->files[k].used = found ? about.st_mtim : (struct timespec){0};
    }
    qsort(l->files, (size_t)l->n, sizeof *l->files, by_use);
    for (int64_t k = 0; k < l->n - CACHE_FILES / 4 * 3; k++) unlinkat(folder, l->files[k].name, 0);
}

void cache_trim(const char *path)
{
    char        folder[CACHE_PATH];
    const char *end = strrchr(path, '/');
    file_list   l = {0};
    bool        ok = true;
    if (!end || end == path) return;
    snprintf(folder, sizeof folder, "%.*s", (int)(end - path), path);
    DIR *d = opendir(folder);
    if (!d) return;
    for (struct dirent *e; ok && (e = readdir(d)) != NULL;)
        if (is_ours(e->d_name)) ok = add_file(&l, e->d_name);
    if (ok && l.n > CACHE_FILES) delete_oldest(dirfd(d), &l);
    closedir(d);
    free(l.files);
}
