/* Where files that can be made again are kept on disk. */
#include "cuda/driver/cache_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder in which nothing can be written is not wrong: kernels are compiled anew then. */
bool cache_check(fault *f)
{
    const char *path = getenv("MTF_CACHE_DIR");
    struct stat found;
    if (!path || !*path) return true;
    if (strlen(path) > CACHE_FOLDER)
        return fail(f, ERR_USAGE, "MTF_CACHE_DIR has %zu characters; it may have at most %d",
                    strlen(path), CACHE_FOLDER);
    if (stat(path, &found) == 0 ? S_ISDIR(found.st_mode) : errno != ENOTDIR) return true;
    return fail(
        f, ERR_USAGE,
        "MTF_CACHE_DIR is \"%s\", which is not a folder; it must be one, or a path at which one "
        "can be made",
        path);
}

void cache_make_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(path, 0777);
        *at = '/';
    }
}

bool cache_path(const char *kind, cache_key key, char path[CACHE_PATH])
{
    const char *own = getenv("MTF_CACHE_DIR"), *user = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME"), *base, *below;
    if (own && *own)
        base = own, below = "";
    else if (user && *user == '/')
        base = user, below = "/mtf";
    else if (home && *home)
        base = home, below = "/.cache/mtf";
    else
        return false;
    int used = snprintf(path, CACHE_PATH, "%s%s/%s/%016llx%016llx", base, below, kind,
                        (unsigned long long)key.hash[0], (unsigned long long)key.hash[1]);
    return used < CACHE_PATH;
}

/* A file gets its name with all its contents, and only if nothing has that name. */
bool cache_put_first(const char *path, const piece *whole)
{
    char  own[CACHE_PATH + 40];
    fault ignored = {0};
    snprintf(own, sizeof own, "%s.%ld", path, (long)getpid());
    TRY(put_file(&ignored, own, 1, whole));
    bool first = link(own, path) == 0;
    int  why = errno;
    unlink(own);
    if (first || why == EEXIST) return first;
    return put_file(&ignored, path, 1, whole); /* no links here */
}
