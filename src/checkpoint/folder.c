/* The folder that holds checkpoints: step_00001000, step_00002000, ... */
#include "checkpoint/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/textbuf.h"

static const char whole[] = "step_", writing[] = ".writing_", deleting[] = ".deleting_";

static const char *join(arena *a, const char *folder, const char *prefix, int64_t step)
{
    textbuf t = {.arena = a};
    text_add(&t, "%s/%s%s%08lld", folder, prefix, whole, (long long)step);
    return text_done(&t);
}

const char *folder_step_path(arena *a, const char *folder, int64_t step)
{
    return join(a, folder, "", step);
}

const char *folder_draft_path(arena *a, const char *folder, int64_t step)
{
    return join(a, folder, writing, step);
}

static bool failed(fault *f, const char *path, const char *verb)
{
    return fail(f, ERR_FILE, "\"%s\" cannot be %s: %s", path, verb, strerror(errno));
}

bool folder_make(const char *folder, fault *f)
{
    char   path[PATH_MAX];
    size_t length = strlen(folder);
    if (length == 0 || length >= sizeof path)
        return fail(f, ERR_FILE, "\"%s\" is not a valid name for a folder", folder);
    memcpy(path, folder, length + 1);
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/') continue;
        char had = *p;
        *p = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST) return failed(f, path, "made");
        if (!had) break;
        *p = had;
    }
    struct stat about;
    if (stat(folder, &about) == 0 && S_ISDIR(about.st_mode)) return true;
    return fail(f, ERR_FILE, "\"%s\" already exists and is not a folder", folder);
}

bool folder_ready(const char *folder, fault *f)
{
    TRY(folder_make(folder, f));
    return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 ||
           failed(f, folder, "written to");
}

bool folder_sync(const char *folder, fault *f)
{
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return failed(f, folder, "opened");
    bool ok = fsync(file) == 0 || errno == EINVAL; /* some file systems do not support it */
    if (!ok) failed(f, folder, "flushed to the disk");
    close(file);
    return ok;
}

/* A folder made by mtf contains files only. */
bool folder_remove(const char *folder, fault *f)
{
    DIR *d = opendir(folder);
    if (!d) return failed(f, folder, "opened");
    bool ok = true;
    for (struct dirent *e; ok && (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (unlinkat(dirfd(d), e->d_name, 0) != 0 && errno != ENOENT)
            ok = fail(f, ERR_FILE, "\"%s/%s\" cannot be deleted: %s", folder, e->d_name,
                      strerror(errno));
    }
    closedir(d);
    if (ok && rmdir(folder) != 0 && errno != ENOENT) ok = failed(f, folder, "deleted");
    return ok;
}

/* Names in a folder that have this prefix; none where the folder does not exist. */
static bool names_with(arena *a, const char *folder, const char *prefix, const char ***names,
                       int *count)
{
    int room = 0;
    *names = NULL, *count = 0;
    DIR *d = opendir(folder);
    if (!d) return errno == ENOENT || errno == ENOTDIR || failed(a->fault, folder, "opened");
    bool ok = true;
    for (struct dirent *e; ok && (e = readdir(d)) != NULL;) {
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0) continue;
        ok = arena_push(a, *names, *count, room) &&
             ((*names)[*count] = arena_text(a, e->d_name)) != NULL;
        *count += ok;
    }
    closedir(d);
    return ok;
}

bool folder_clean(arena *a, const char *folder)
{
    static const char *const prefixes[] = {writing, deleting};
    for (int p = 0; p < 2; p++) {
        const char **names;
        int          n;
        TRY(names_with(a, folder, prefixes[p], &names, &n));
        for (int i = 0; i < n; i++) {
            textbuf t = {.arena = a};
            text_add(&t, "%s/%s", folder, names[i]);
            TRY(text_done(&t) && folder_remove(t.text, a->fault));
        }
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The step in a checkpoint's name; -1: not a name that mtf gives. */
static int64_t step_of(const char *name)
{
    char      again[40], *end;
    long long step;
    errno = 0;
    if (strncmp(name, whole, sizeof whole - 1) != 0) return -1;
    step = strtoll(name + sizeof whole - 1, &end, 10);
    snprintf(again, sizeof again, "%s%08lld", whole, step);
    return errno || strcmp(again, name) != 0 ? -1 : step;
}

int64_t folder_step(const char *path)
{
    size_t length = strlen(path), begin;
    char   name[40];
    while (length > 1 && path[length - 1] == '/') length--;
    for (begin = length; begin > 0 && path[begin - 1] != '/';) begin--;
    if (length - begin >= sizeof name) return -1;
    snprintf(name, sizeof name, "%.*s", (int)(length - begin), path + begin);
    return step_of(name);
}

bool folder_steps(arena *a, const char *folder, int64_t **steps, int *count)
{
    const char **names;
    int          n;
    TRY(names_with(a, folder, whole, &names, &n));
    *steps = arena_array(a, int64_t, n);
    *count = 0;
    TRY(*steps != NULL);
    for (int i = 0; i < n; i++) {
        int64_t step = step_of(names[i]);
        if (step >= 0) (*steps)[(*count)++] = step;
    }
    if (*count) qsort(*steps, (size_t)*count, sizeof **steps, compare);
    return true;
}

/* Renamed first, so that a half deleted checkpoint is never mistaken for a complete one. */
static bool discard(arena *a, const char *folder, int64_t step)
{
    const char *from = join(a, folder, "", step), *to = join(a, folder, deleting, step);
    TRY(from && to);
    if (rename(from, to) != 0) return failed(a->fault, from, "renamed");
    return folder_remove(to, a->fault);
}

/* Under the name of another step it could not be opened afterwards. */
bool folder_suits(const char *path, int64_t step, fault *f)
{
    int64_t named = folder_step(path);
    return named < 0 || named == step ||
           fail(f, ERR_USAGE,
                "\"%s\" would have the checkpoint of step %lld: its name should be step_%08lld",
                path, (long long)step, (long long)step);
}

bool folder_publish(arena *a, const char *folder, int64_t step)
{
    const char *from = join(a, folder, writing, step), *to = join(a, folder, "", step);
    TRY(from && to);
    bool there = access(to, F_OK) == 0;
    /* Exchanges the two names atomically where the system supports that. */
    bool swapped = there && renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0;
    if (there && !swapped) TRY(discard(a, folder, step));
    if (!swapped && rename(from, to) != 0) return failed(a->fault, from, "renamed");
    TRY(folder_sync(folder, a->fault));
    return !swapped || folder_remove(from, a->fault);
}

bool folder_prune(arena *a, const char *folder, int keep, int64_t every, int64_t current)
{
    int64_t *steps;
    int      n;
    if (keep <= 0) return true;
    TRY(folder_steps(a, folder, &steps, &n));
    for (int i = 0; i < n - keep; i++)
        if (steps[i] != current && (every <= 0 || steps[i] % every != 0))
            TRY(discard(a, folder, steps[i]));
    return true;
}
