/* Sorting, for write_sort.c.  See kernel_text.h for its form. */

//: sort
// Bitonic: sequences of `size` items that ascend and descend alternately are merged.
    for (int size = 2; size <= $N; size *= 2)
        for (int gap = size / 2; gap > 0; gap /= 2) {
            for (int t = THREAD; t < $ALL / 2; t += THREADS) {
                int low = (t & ~(gap - 1)) * 2 + (t & (gap - 1)), high = low + gap;
                u64 a = item[low], b = item[high];
                $SORTINDICES
                if (($SORTABOVE) != ((low & ($N - 1) & size) == 0)) continue;
                item[low] = b;
                item[high] = a;
                $SORTSWAP
            }
            SYNC();
        }

//: before
        {
            i32 low = 0, high = $N;
            while (low < high) {
                i32 middle = (low + high) / 2;
                u64 a = mine, b = sorted[tile * $N + middle];
                $SORTTHEIRS
                if ($SORTABOVE) low = middle + 1;
                else high = middle;
            }
            rank += low;
        }
