/* What devices do by themselves. */
#include "base/abilities.h"

#include <string.h>

#include "base/chip.h"

/* A row that a CPU's kernel folds stays in its nearest caches; a card's goes to the memory that its
 * threads share, or is read again. */
enum { ROW_OF_CHIP = 8192, ROW_OF_CARD = 128 * 1024 };
enum { SLIM_OF_CARD = 8 };

bool abilities_of_card(const char *device)
{
    return strcmp(device, "cuda") == 0 || strcmp(device, "check:cuda") == 0;
}

enum {
    EPILOGUES_OF_CARD = EPILOGUE_ADD | EPILOGUE_BIAS | EPILOGUE_RELU | EPILOGUE_GELU | EPILOGUE_SLOPE |
                        EPILOGUE_TOTAL
};

abilities abilities_of(const char *device)
{
    bool     card = abilities_of_card(device);
    bool     bf16 = card || chip_has_bfmmla() || chip_has_avx512_bf16();
    unsigned short_types = (unsigned)bf16 << MTF_BF16 | (unsigned)card << MTF_F16;
    if (card) short_types |= 1u << MTF_F8E4M3 | 1u << MTF_F8E5M2;
    return (abilities){.products = short_types,
                       .epilogues = card ? EPILOGUES_OF_CARD : 0,
                       .slim = card ? SLIM_OF_CARD : 0,
                       .longest_row = card ? ROW_OF_CARD : ROW_OF_CHIP,
                       .sums_columns = card,
                       .attends = card,
                       .recomputes = card,
                       .groups = card,
                       .overlaps = strcmp(device, "cuda") == 0};
}
