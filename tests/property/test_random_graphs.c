/* Random graphs under random layouts give what one processor gives.
 *
 * Case k is made from SEED + k alone.  One that fails is shrunk and printed as
 * .mtf text with the flags that show it; `test_random_graphs SEED+k 1` makes
 * it again.  Integers, and floats that no sum has touched, must be equal; other
 * floats within 1e-9 of their tensor's magnitude, 1e-4 in f32.
 *
 * Usage: test_random_graphs [SEED] [COUNT]
 */
#include <stdio.h>
#include <stdlib.h>

#include "property_case.h"

enum { SEED = 1, COUNT = 2400, MOST_DIMS = 40 };

/* ---- one case ---- */

/* Drops rules until no tensor has two dimensions on one axis. */
static verdict try_legal(property_case *c, dice *d, char *reason)
{
    for (;;) {
        verdict v = case_try(c, reason);
        if (v != VERDICT_ILLEGAL || !case_drop_rule(c, d, reason)) return v;
    }
}

static bool run_one(property_case *c, uint64_t seed)
{
    dice d = {seed ^ 0x5bd1e995u};
    char dims[MOST_DIMS][NAME_ROOM], reason[REASON_ROOM] = "";
    case_make_graph(c, seed);
    int ndims = case_dims(c, MOST_DIMS, dims);
    case_make_layout(c, &d, ndims, dims);
    verdict v = try_legal(c, &d, reason);
    if (v == VERDICT_SAME) return true;
    printf("# case %llu: %s\n", (unsigned long long)seed, reason);
    fflush(stdout);
    if (v != VERDICT_ILLEGAL) case_shrink(c, v, reason);
    case_print(c, reason);
    fflush(stdout);
    return false;
}

int main(int argc, char **argv)
{
    uint64_t       seed = argc > 1 ? strtoull(argv[1], NULL, 10) : SEED;
    int            count = argc > 2 ? atoi(argv[2]) : COUNT, passed = 0;
    property_case *c = malloc(sizeof *c);
    for (int k = 0; c && k < count; k++) passed += run_one(c, seed + (uint64_t)k);
    free(c);
    printf("test_random_graphs: %d passed, %d failed\n", passed, count - passed);
    return passed != count;
}
