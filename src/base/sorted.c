/* Sorted numbers. */
#include "base/sorted.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sort_numbers(double *list, int n)
{
    qsort(list, (size_t)n, sizeof *list, by_value);
}

double lower_quarter(double *took, int n)
{
    sort_numbers(took, n);
    return took[n / 4];
}
