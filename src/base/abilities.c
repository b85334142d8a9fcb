/* What devices do by themselves. */
#include "base/abilities.h"

#include <string.h>

#include "base/cudnn_use.h"
#include "mtf_build.h"

/* A row that a CPU's kernel folds stays in its nearest caches; a card's goes to the memory that its
 * threads share, or is read again. */
enum { ROW_OF_CHIP = 8192, ROW_OF_CARD = 128 * 1024 };
enum { SLIM_OF_CARD = 8 };
enum { WINDOW_OF_CARD = 1 << 26 }; /* less takes some microseconds either way */

bool abilities_of_card(const char *device)
{
    return strcmp(device, "cuda") == 0 || strcmp(device, "check:cuda") == 0;
}

enum {
    EPILOGUES_OF_CARD = EPILOGUE_ADD | EPILOGUE_BIAS | EPILOGUE_RELU | EPILOGUE_GELU | EPILOGUE_SLOPE |
                        EPILOGUE_TOTAL
};

/* A build for CPUs plans for cards that have cuDNN. */
static int64_t least_window(bool card)
{
    const bool never = MTF_HAVE_CUDA && !MTF_HAVE_CUDNN;
    cudnn_use  use = cudnn_use_asked();
    if (!card || never || use == CUDNN_NEVER) return INT64_MAX;
    return use == CUDNN_WHERE_POSSIBLE ? 0 : WINDOW_OF_CARD;
}

abilities abilities_of(const char *device)
{
    bool     card = abilities_of_card(device);
    unsigned short_types = 1u << MTF_BF16 | (unsigned)card << MTF_F16;
    if (card) short_types |= 1u << MTF_F8E4M3 | 1u << MTF_F8E5M2;
    return (abilities){.products = short_types,
                       .epilogues = card ? EPILOGUES_OF_CARD : EPILOGUE_INTO,
                       .slim = card ? SLIM_OF_CARD : 0,
                       .longest_row = card ? ROW_OF_CARD : ROW_OF_CHIP,
                       .sums_columns = card,
                       .attends = card,
                       .least_window = least_window(card),
                       .sums_windows = card,
                       .recomputes = card,
                       .groups = card,
                       .overlaps = strcmp(device, "cuda") == 0};
}
