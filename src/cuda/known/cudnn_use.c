/* When GPUs take cuDNN instead of kernels of our own. */
#include "cuda/known/cudnn_use.h"

#include <stdlib.h>
#include <string.h>

cudnn_use cudnn_use_asked(void)
{
    const char *said = getenv("MTF_CUDNN");
    if (!said) return CUDNN_WHERE_FASTER;
    return strcmp(said, "no") == 0    ? CUDNN_NEVER
           : strcmp(said, "all") == 0 ? CUDNN_WHERE_POSSIBLE
                                      : CUDNN_WHERE_FASTER;
}

/* An empty variable is as good as none. */
bool cudnn_use_check(fault *f)
{
    const char *said = getenv("MTF_CUDNN");
    if (!said || !*said || cudnn_use_asked() != CUDNN_WHERE_FASTER) return true;
    return fail(
        f, ERR_USAGE,
        "MTF_CUDNN is \"%.40s%s\"; it must be no (attention and convolutions never by cuDNN), all "
        "(by cuDNN for small operands, too), or not set",
        said, strlen(said) > 40 ? "..." : "");
}
