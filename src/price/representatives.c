/* A few of many in a row, and how many each of them stands for. */
#include "price/representatives.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>

int sample_place(int n, int taken, int k)
{
    assert(taken == n || taken >= SAMPLE_LEAST);
    if (taken == n || k == 0) return k;
    if (k == taken - 1) return n - 1;
    return 1 + (int)((int64_t)(k - 1) * (n - 3) / (taken - 3));
}

void sample_share(int n, int taken, const int *count, int *share)
{
    double sum = 0; /* of what those taken so far stand for */
    int    given = 0;
    for (int k = 0; k < taken; k++) {
        int here = sample_place(n, taken, k);
        int before = k ? sample_place(n, taken, k - 1) : here;
        int after = k + 1 < taken ? sample_place(n, taken, k + 1) : here;
        for (int j = before + (k > 0); j < here; j++)
            sum += (double)count[j] * (j - before) / (here - before);
        sum += count[here];
        for (int j = here + 1; j < after; j++)
            sum += (double)count[j] * (after - j) / (after - here);
        share[k] = (int)lround(sum) - given;
        given += share[k];
    }
}
