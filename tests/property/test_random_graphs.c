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
#include <sys/wait.h>
#include <unistd.h>

#include "property_case.h"

enum { SEED = 1, COUNT = 8000, MOST_DIMS = 40 };

/* ---- one case ---- */

typedef verdict try_case(const property_case *c, char reason[REASON_ROOM]);

/* Drops rules until no tensor has two dimensions on one axis. */
static verdict try_legal(property_case *c, dice *d, try_case *try, char *reason)
{
    for (;;) {
        verdict v = try(c, reason);
        if (v != VERDICT_ILLEGAL || !case_drop_rule(c, d, reason)) return v;
    }
}

static bool run_one(property_case *c, uint64_t seed, try_case *try)
{
    dice d = {seed ^ 0x5bd1e995u};
    char dims[MOST_DIMS][NAME_ROOM], reason[REASON_ROOM] = "";
    case_make_graph(c, seed);
    int ndims = case_dims(c, MOST_DIMS, dims);
    case_make_layout(c, &d, ndims, dims);
    alarm(try == case_try ? PATIENCE : 0);
    verdict v = try_legal(c, &d, try, reason);
    alarm(0);
    if (v == VERDICT_SAME) return true;
    printf("# case %llu: %s\n", (unsigned long long)seed, reason);
    fflush(stdout);
    if (v != VERDICT_ILLEGAL) case_shrink(c, v, reason);
    case_print(c, reason);
    fflush(stdout);
    return false;
}

/* ---- all cases ---- */

typedef struct score {
    int done, passed;
} score;

/* Runs cases in another process until all are done or one of them kills it: a process for each
 * would take longer than the cases. */
static void run_many(property_case *c, uint64_t seed, int count, score *s)
{
    int  ends[2];
    char good;
    fflush(stdout);
    if (pipe(ends)) return;
    pid_t child = fork();
    if (child == 0) {
        for (int k = s->done; k < count; k++) {
            good = run_one(c, seed + (uint64_t)k, case_try);
            if (write(ends[1], &good, 1) != 1) break;
        }
        _exit(0);
    }
    close(ends[1]);
    while (read(ends[0], &good, 1) == 1) s->done++, s->passed += good;
    close(ends[0]);
    if (child > 0) waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    uint64_t       seed = argc > 1 ? strtoull(argv[1], NULL, 10) : SEED;
    int            count = argc > 2 ? atoi(argv[2]) : COUNT;
    score          s = {0};
    property_case *c = malloc(sizeof *c);
    while (c && s.done < count) {
        run_many(c, seed, count, &s);
        if (s.done == count) break;
        /* The next case took the process with it; by itself it can be told and shrunk. */
        s.passed += run_one(c, seed + (uint64_t)s.done, case_try_apart);
        s.done++;
    }
    free(c);
    printf("test_random_graphs: %d passed, %d failed\n", s.passed, count - s.passed);
    return s.passed != count;
}
