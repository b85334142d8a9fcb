/* Split rules that many operations share. */
#include "ops/splits.h"

#include <string.h>

dim_split split_free(const node *n, const char *dim)
{
    (void)n, (void)dim;
    return SPLIT_FREE;
}

dim_split split_but_first(const node *n, const char *dim)
{
    return strcmp(n->attrs[0].text, dim) == 0 ? SPLIT_WHOLE : SPLIT_FREE;
}

dim_split split_own_first(const node *n, const char *dim)
{
    return strcmp(n->attrs[0].text, dim) == 0 ? SPLIT_OWN : SPLIT_FREE;
}

debt debt_sum(const node *n, int input)
{
    (void)n, (void)input;
    return DEBT_SUM;
}

debt debt_product(const node *n, int input)
{
    (void)n, (void)input;
    return DEBT_PRODUCT;
}

debt debt_first(const node *n, int input)
{
    (void)n;
    return input == 0 ? DEBT_PRODUCT : DEBT_SETTLE;
}
