/* What NVIDIA's GPUs can do, known where none is. */
#include "cuda/known/cuda_abilities.h"

#include "cuda/known/cudnn_use.h"
#include "cuda/known/cudnn_windows.h"
#include "cuda/known/nccl_collectives.h"
#include "mtf_build.h"

enum { ROW = 128 * 1024 }; /* elements: what threads do not share in their memory is read again */
enum { SLIM = 8 };
enum {
    ROW_BYTES = 16
}; /* cuBLASLt moves so many at once; with others a product takes twice as long */
enum { WINDOW = 1 << 26 }; /* less takes some microseconds either way */

/* A build for CPUs plans for GPUs that have cuDNN. */
static int64_t least_window(void)
{
    const bool never = MTF_HAVE_CUDA && !MTF_HAVE_CUDNN;
    cudnn_use  use = cudnn_use_asked();
    if (never || use == CUDNN_NEVER) return INT64_MAX;
    return use == CUDNN_WHERE_POSSIBLE ? 0 : WINDOW;
}

abilities cuda_abilities(void)
{
    return (abilities){.products =
                           1u << MTF_BF16 | 1u << MTF_F16 | 1u << MTF_F8E4M3 | 1u << MTF_F8E5M2,
                       .f8_as_bf16 = true,
                       .epilogues = EPILOGUE_ADD | EPILOGUE_BIAS | EPILOGUE_RELU | EPILOGUE_GELU |
                                    EPILOGUE_SLOPE | EPILOGUE_TOTAL,
                       .slim = SLIM,
                       .longest_row = ROW,
                       .row_bytes = ROW_BYTES,
                       .overlaps = true,
                       .sums_columns = true,
                       .attends = true,
                       .takes_window = cudnn_takes_window,
                       .least_window = least_window(),
                       .sums_windows = true,
                       .recomputes = true,
                       .groups = true,
                       .collectives = &nccl_collectives,
                       .machine = "h200"};
}
