/* What environment variables ask of cards. */
#include "machine/cuda/cuda_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cudnn_use.h"
#include "machine/cuda/cache_folder.h"

/* An empty variable is as good as none. */
static const char *value_of(const char *name)
{
    const char *said = getenv(name);
    return said && *said ? said : NULL;
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
    if (cudnn_use_wrong())
        return fail(f, ERR_USAGE,
                    "MTF_CUDNN is \"%s\"; it must be no (attention and convolutions never by "
                    "cuDNN), all (by cuDNN for small operands, too), or not set",
                    cudnn_use_wrong());
    return check_cache(f);
}
