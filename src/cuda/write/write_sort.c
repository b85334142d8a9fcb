/* Sorting in kernels: tiles in shared memory, and their join. */
#include "cuda/write/write_sort.h"

/* Bitonic: sequences of `size` items that ascend and descend by turns are merged. */
static const char sort[] =
    "    for (int size = 2; size <= $N; size *= 2)\n"
    "        for (int gap = size / 2; gap > 0; gap /= 2) {\n"
    "            for (int t = THREAD; t < $ALL / 2; t += THREADS) {\n"
    "                int low = (t & ~(gap - 1)) * 2 + (t & (gap - 1)), high = low + gap;\n"
    "                u64 a = item[low], b = item[high];\n"
    "                $SORTINDICES\n"
    "                if (($SORTABOVE) != ((low & ($N - 1) & size) == 0)) continue;\n"
    "                item[low] = b;\n"
    "                item[high] = a;\n"
    "                $SORTSWAP\n"
    "            }\n"
    "            SYNC();\n"
    "        }\n";

static const char before[] = "        {\n"
                             "            i32 low = 0, high = $N;\n"
                             "            while (low < high) {\n"
                             "                i32 middle = (low + high) / 2;\n"
                             "                u64 a = mine, b = sorted[tile * $N + middle];\n"
                             "                $SORTTHEIRS\n"
                             "                if ($SORTABOVE) low = middle + 1;\n"
                             "                else high = middle;\n"
                             "            }\n"
                             "            rank += low;\n"
                             "        }\n";

void sort_set_words(kernel_text *k, int64_t n, int64_t all, bool pairs)
{
    kernel_set_number(k, "N", n);
    kernel_set_number(k, "ALL", all);
    kernel_set_pattern(k, "SORTDECLARE",
                       pairs ? "SHARED u64 item[$ALL]; SHARED u32 index[$ALL];"
                             : "SHARED u64 item[$ALL];");
    kernel_set_pattern(k, "SORT", sort);
    kernel_set_pattern(k, "SORTBEFORE", before);
    kernel_set_pattern(k, "SORTABOVE", pairs ? "a > b || (a == b && ia > ib)" : "a > b");
    kernel_set_pattern(k, "SORTINDICES", pairs ? "u32 ia = index[low], ib = index[high];" : "");
    kernel_set_pattern(k, "SORTSWAP", pairs ? "index[low] = ib; index[high] = ia;" : "");
    kernel_set_pattern(k, "SORTTHEIRS",
                       pairs ? "u32 ia = my_index, ib = indices[tile * $N + middle];" : "");
}
