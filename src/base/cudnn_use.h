/* When cards take cuDNN instead of kernels of our own. */
#ifndef BASE_CUDNN_USE_H
#define BASE_CUDNN_USE_H

#include <stdbool.h>

/* MTF_CUDNN: attention and convolutions by cuDNN where that is faster; no: never, to compare; all: also
 * where it takes longer, to test. */
typedef enum cudnn_use { CUDNN_WHERE_FASTER, CUDNN_NEVER, CUDNN_WHERE_POSSIBLE } cudnn_use;

cudnn_use cudnn_use_asked(void);
/* The variable's value if it is no such word; NULL: all is well. */
const char *cudnn_use_wrong(void);

#endif
