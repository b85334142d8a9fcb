/* When cards take cuDNN instead of kernels of our own. */
#include "base/cudnn_use.h"

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
const char *cudnn_use_wrong(void)
{
    const char *said = getenv("MTF_CUDNN");
    return said && *said && cudnn_use_asked() == CUDNN_WHERE_FASTER ? said : NULL;
}
