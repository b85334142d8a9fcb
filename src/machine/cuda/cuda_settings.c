/* What environment variables ask of cards. */
#include "machine/cuda/cuda_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "machine/cuda/cache_folder.h"

/* An empty variable is as good as none. */
static const char *value_of(const char *name)
{
    const char *said = getenv(name);
    return said && *said ? said : NULL;
}

/* False: there is no such word. */
static bool read_cudnn(cudnn_use *use)
{
    const char *said = value_of("MTF_CUDNN");
    *use = CUDNN_WHERE_FASTER;
    if (!said) return true;
    if (strcmp(said, "no") == 0) *use = CUDNN_NEVER;
    if (strcmp(said, "all") == 0) *use = CUDNN_WHERE_POSSIBLE;
    return *use != CUDNN_WHERE_FASTER;
}

cudnn_use cuda_settings_cudnn(void)
{
    cudnn_use use;
    read_cudnn(&use);
    return use;
}

/* A folder in which nothing can be written is not wrong: kernels are compiled anew then. */
static bool check_cache(fault *f)
{
    const char *path = value_of("MTF_CACHE_DIR");
    struct stat found;
    if (!path) return true;
    if (strlen(path) > CACHE_FOLDER)
        return fail(f, ERR_USAGE, "MTF_CACHE_DIR has %zu characters; it may have at most %d",
                    strlen(path), CACHE_FOLDER);
    if (stat(path, &found) == 0 ? S_ISDIR(found.st_mode) : errno != ENOTDIR) return true;
    return fail(
        f, ERR_USAGE,
        "MTF_CACHE_DIR is \"%s\", which is no folder; it must be one, or a path at which one "
        "can be made",
        path);
}

bool cuda_settings_check(fault *f)
{
    cudnn_use use;
    if (!read_cudnn(&use))
        return fail(f, ERR_USAGE,
                    "MTF_CUDNN is \"%s\"; it must be no (attention never by cuDNN), all (by cuDNN "
                    "for small operands, too), or not set",
                    value_of("MTF_CUDNN"));
    return check_cache(f);
}
