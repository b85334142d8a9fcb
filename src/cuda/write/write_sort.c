/* Sorting in kernels: tiles in shared memory, and their join. */
#include "cuda/write/write_sort.h"
#include "cuda/write/prelude_assets.h"

static const kernel_patterns patterns = {asset_sort, &asset_sort_bytes};

void sort_set_words(kernel_text *k, int64_t n, int64_t all, bool pairs)
{
    kernel_set_number(k, "N", n);
    kernel_set_number(k, "ALL", all);
    kernel_set_pattern(k, "SORTDECLARE",
                       pairs ? "SHARED u64 item[$ALL]; SHARED u32 index[$ALL];"
                             : "SHARED u64 item[$ALL];");
    kernel_set_from(k, "SORT", &patterns, "sort");
    kernel_set_from(k, "SORTBEFORE", &patterns, "before");
    kernel_set_pattern(k, "SORTABOVE", pairs ? "a > b || (a == b && ia > ib)" : "a > b");
    kernel_set_pattern(k, "SORTINDICES", pairs ? "u32 ia = index[low], ib = index[high];" : "");
    kernel_set_pattern(k, "SORTSWAP", pairs ? "index[low] = ib; index[high] = ia;" : "");
    kernel_set_pattern(k, "SORTTHEIRS",
                       pairs ? "u32 ia = my_index, ib = indices[tile * $N + middle];" : "");
}
