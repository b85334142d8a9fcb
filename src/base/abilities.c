/* What devices do by themselves. */
#include "base/abilities.h"

#include <string.h>

#include "base/cudnn_use.h"
#include "mtf_build.h"

/* A row that a CPU's kernel folds stays in its nearest caches; a GPU's goes to the memory that its
 * threads share, or is read again. */
enum { ROW_OF_CHIP = 8192, ROW_OF_GPU = 128 * 1024 };
enum { SLIM_OF_GPU = 8 };
enum { WINDOW_OF_GPU = 1 << 26 }; /* less takes some microseconds either way */

bool abilities_of_gpu(const char *device)
{
    return strcmp(device, "cuda") == 0 || strcmp(device, "check:cuda") == 0;
}

enum {
    EPILOGUES_OF_GPU = EPILOGUE_ADD | EPILOGUE_BIAS | EPILOGUE_RELU | EPILOGUE_GELU | EPILOGUE_SLOPE |
                        EPILOGUE_TOTAL
};

/* A build for CPUs plans for GPUs that have cuDNN. */
static int64_t least_window(bool gpu)
{
    const bool never = MTF_HAVE_CUDA && !MTF_HAVE_CUDNN;
    cudnn_use  use = cudnn_use_asked();
    if (!gpu || never || use == CUDNN_NEVER) return INT64_MAX;
    return use == CUDNN_WHERE_POSSIBLE ? 0 : WINDOW_OF_GPU;
}

abilities abilities_of(const char *device)
{
    bool     gpu = abilities_of_gpu(device);
    unsigned short_types = 1u << MTF_BF16 | (unsigned)gpu << MTF_F16;
    if (gpu) short_types |= 1u << MTF_F8E4M3 | 1u << MTF_F8E5M2;
    return (abilities){.products = short_types,
                       .epilogues = gpu ? EPILOGUES_OF_GPU : EPILOGUE_INTO,
                       .slim = gpu ? SLIM_OF_GPU : 0,
                       .longest_row = gpu ? ROW_OF_GPU : ROW_OF_CHIP,
                       .sums_columns = gpu,
                       .attends = gpu,
                       .least_window = least_window(gpu),
                       .sums_windows = gpu,
                       .recomputes = gpu,
                       .groups = gpu,
                       .overlaps = strcmp(device, "cuda") == 0};
}
