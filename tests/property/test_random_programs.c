/* Random programs under random layouts give what the oracle says.
 *
 * Program k is made from SEED + k alone, and run a few times: each time other
 * results are fetched, on another mesh, under another layout; at the end all
 * unused results, on a mesh and on one processor.  A failing program is shrunk
 * and printed as .mtf text with the flags that reproduce it;
 * `test_random_programs SEED+k 1` makes it again.  With MTF_TEST_DEVICE=cuda programs run on GPUs,
 * three steps of each, so that the last one is replayed.
 *
 * Usage: test_random_programs [SEED] [COUNT]
 *        test_random_programs --first [SEED] [COUNT]   ends with the first that fails, as it is
 *        test_random_programs --seconds N [SEED]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asked.h"
#include "property_case.h"

enum { SEED = 1, COUNT = 2500, LAYOUTS = 6 };

/* ---- one program ---- */

/* Drops rules until no tensor has two dimensions on one axis. */
static verdict try_legal(property_case *c, dice *d, bool apart, char *reason, coverage *cover)
{
    for (;;) {
        verdict v = apart ? case_try_apart(c, false, reason) : case_try(c, reason, cover);
        if (v != VERDICT_ILLEGAL || !case_drop_rule(c, d, reason)) return v;
    }
}

static void report(property_case *c, uint64_t seed, verdict v, bool graph, char *reason)
{
    printf("# program %llu: %s\n# again: test_random_programs %llu 1\n", (unsigned long long)seed,
           reason, (unsigned long long)seed);
    fflush(stdout);
    if (v != VERDICT_ILLEGAL) case_shrink(c, v, graph, reason);
    case_print(c, reason);
    fflush(stdout);
}

/* In a process of its own: what the program was when making it crashed is left in c, which is shared.
 */
static bool make_apart(property_case *c, uint64_t seed)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm((unsigned)case_patience());
        case_make_program(c, seed);
        _exit(0);
    }
    if (child > 0) waitpid(child, &status, 0);
    if (!status) return true;
    char reason[REASON_ROOM];
    snprintf(reason, sizeof reason, "the last line cannot be read: %s",
             strsignal(WTERMSIG(status)));
    printf("# program %llu: %s\n", (unsigned long long)seed, reason);
    case_print(c, reason);
    return false;
}

static bool run_one(property_case *c, uint64_t seed, bool apart, bool shrinks, coverage *cover)
{
    static char dims[MOST_DIMS][NAME_ROOM];
    dice        d = {seed ^ 0x5bd1e995u};
    char        reason[REASON_ROOM] = "";
    if (apart && !make_apart(c, seed)) return false;
    if (!apart) case_make_program(c, seed);
    int ndims = case_dims(c, MOST_DIMS, dims);
    if (!apart) alarm((unsigned)case_patience());
    verdict v = apart ? case_try_apart(c, true, reason) : case_try_graph(c, reason, cover);
    bool    graph = v != VERDICT_SAME;
    for (int k = 0; k < LAYOUTS && v == VERDICT_SAME; k++) {
        if (k >= LAYOUTS - 2)
            case_fetch_ends(c);
        else if (k)
            case_choose_fetches(c, &d);
        case_make_layout(c, &d, ndims, dims);
        if (k == LAYOUTS - 1) case_no_layout(c);
        if (!apart) alarm((unsigned)case_patience());
        v = try_legal(c, &d, apart, reason, cover);
    }
    alarm(0);
    /* Shrinking starts processes, which a process that has opened a GPU cannot. */
    if (v != VERDICT_SAME && !apart && asked_device()) _exit(1);
    if (v != VERDICT_SAME && shrinks) report(c, seed, v, graph, reason);
    if (v != VERDICT_SAME && !shrinks)
        printf("# program %llu: %s\n", (unsigned long long)seed, reason);
    return v == VERDICT_SAME;
}

/* ---- many ---- */

typedef struct score {
    bool     first; /* ends with the first that fails */
    uint64_t done;
    int      passed, failed;
    coverage cover;
} score;

typedef struct result {
    bool     good;
    coverage cover;
} result;

static void note(score *s, const result *r)
{
    s->done++;
    s->passed += r->good;
    s->failed += !r->good;
    s->cover.exact += r->cover.exact;
    s->cover.near += r->cover.near;
    s->cover.unknown += r->cover.unknown;
    s->cover.slopes += r->cover.slopes;
}

static bool is_over(const score *s, uint64_t count, time_t end)
{
    return s->done >= count || time(NULL) >= end || (s->first && s->failed);
}

/* Runs programs in another process until all are done or one of them kills it: a process for each
 * would take longer than the programs. */
static void run_many(property_case *c, uint64_t seed, uint64_t count, time_t end, score *s)
{
    int    ends[2];
    result r;
    fflush(stdout);
    if (pipe(ends)) return;
    pid_t child = fork();
    if (child == 0) {
        asked_hold_gpu();
        for (uint64_t k = s->done; k < count && time(NULL) < end; k++) {
            r = (result){0};
            r.good = run_one(c, seed + k, false, !s->first, &r.cover);
            if (write(ends[1], &r, sizeof r) != sizeof r || (s->first && !r.good)) break;
        }
        _exit(0);
    }
    close(ends[1]);
    while (read(ends[0], &r, sizeof r) == sizeof r) note(s, &r);
    close(ends[0]);
    if (child > 0) waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    bool           timed = argc > 2 && !strcmp(argv[1], "--seconds");
    bool           first = argc > 1 && !strcmp(argv[1], "--first");
    int            given = 1 + 2 * timed + first;
    uint64_t       seed = argc > given ? strtoull(argv[given], NULL, 10) : SEED;
    uint64_t       count = timed              ? UINT64_MAX
                           : argc > given + 1 ? strtoull(argv[given + 1], NULL, 10)
                                              : (uint64_t)asked_much(COUNT, COUNT / 8);
    time_t         end = time(NULL) + (timed ? atoi(argv[2]) : 24 * 3600);
    score          s = {.first = first};
    property_case *c =
        mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED) return 2;
    if (timed) printf("from seed %llu, for %s seconds\n", (unsigned long long)seed, argv[2]);
    while (!is_over(&s, count, end)) {
        run_many(c, seed, count, end, &s);
        if (is_over(&s, count, end)) break;
        /* The next program took the process with it; by itself it can be told and shrunk. */
        result r = {.good = run_one(c, seed + s.done, true, !first, NULL)};
        note(&s, &r);
    }
    munmap(c, sizeof *c);
    int64_t all = s.cover.exact + s.cover.near + s.cover.unknown;
    printf("seeds %llu to %llu: %lld elements, %lld equal, %lld near, %lld not definite; %lld "
           "slopes\n",
           (unsigned long long)seed, (unsigned long long)(seed + s.done - 1), (long long)all,
           (long long)s.cover.exact, (long long)s.cover.near, (long long)s.cover.unknown,
           (long long)s.cover.slopes);
    printf("test_random_programs: %d passed, %d failed\n", s.passed, s.failed);
    return s.failed > 0;
}
