/* Runs every case under tests/cases: text, values, the check device, memory, gradients.
 *
 * Usage: test_cases [part of a path]
 */
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asked.h"
#include "harness_number.h"
#include "harness_run.h"

#ifndef MTF_SOURCE_DIR
#define MTF_SOURCE_DIR "."
#endif

static const char folder[] = MTF_SOURCE_DIR "/tests/cases/";

typedef struct tally {
    int passed, failed;
} tally;

static bool check(tally *t, const test_case *c, const char *what, bool good, const char *why)
{
    if (good)
        t->passed++;
    else {
        t->failed++;
        printf("%s: %s: %s\n", c->path, what, why);
    }
    return good;
}

/* ---- text ---- */

/* The graph of a text, printed; to be freed. NULL: see error. */
static char *printed(const char *text, const char *path, char *error)
{
    allocations  count;
    mtf_session *s = open_counted(&count, "cpu", 1);
    mtf_graph   *g = s ? mtf_parse(s, text, path) : NULL;
    const char  *made = g ? mtf_print(g) : NULL;
    char        *copy = made ? strdup(made) : NULL;
    if (!copy && !copy_error(s, "parse and print", error))
        snprintf(error, ERROR_ROOM, "parse and print: no text and no reason");
    if (s) mtf_close(s);
    return copy;
}

static void first_difference(const char *a, const char *b, char *error)
{
    size_t at = 0;
    while (a[at] && a[at] == b[at]) at++;
    while (at > 0 && a[at - 1] != '\n') at--;
    int length_a = (int)strcspn(a + at, "\n"), length_b = (int)strcspn(b + at, "\n");
    snprintf(error, ERROR_ROOM, "printed \"%.*s\", printed again \"%.*s\"", length_a, a + at,
             length_b, b + at);
}

static bool check_text(tally *t, const test_case *c)
{
    char  error[ERROR_ROOM] = "";
    char *once = printed(c->text, c->path, error);
    if (!check(t, c, "text", once, error)) return false;
    char *twice = printed(once, "printed", error);
    bool  same = twice && !strcmp(once, twice);
    if (twice && !same) first_difference(once, twice, error);
    check(t, c, "round trip", same, error);
    free(once);
    free(twice);
    return true;
}

/* ---- values, devices, memory ---- */

static void check_value(tally *t, const test_case *c, const case_values *e, const fetched *f)
{
    char error[ERROR_ROOM], text[ERROR_ROOM + 100];
    bool good = true;
    if (e->shape && strcmp(e->shape, f->shape + strlen("Shape"))) {
        snprintf(error, sizeof error, "expected %.100s, found %s", e->shape, f->shape);
        good = false;
    }
    closeness how = {c->tolerance, c->relative};
    good = good && numbers_agree(e->numbers, f->data, f->type, f->n, how, error, ERROR_ROOM);
    if (!good) snprintf(text, sizeof text, "%.60s: %s", e->name, error);
    check(t, c, "value", good, text);
}

static void check_same(tally *t, const test_case *c, const char *what, const case_run *a,
                       const case_run *b)
{
    char error[ERROR_ROOM] = "";
    bool good = true;
    for (int i = 0; i < c->nexpected && good; i++) {
        const fetched *x = &a->values[i], *y = &b->values[i];
        good = x->n == y->n && x->type == y->type &&
               !memcmp(x->data, y->data, (size_t)x->n * mtf_dtype_bytes(x->type));
        if (!good)
            snprintf(error, sizeof error, "%.60s: other bits than on two threads of the cpu",
                     c->expected[i].name);
    }
    check(t, c, what, good, error);
}

static void check_memory(tally *t, const test_case *c, const case_run *r)
{
    char error[ERROR_ROOM];
    snprintf(error, sizeof error, "a step made %ld allocations", r->step_calls);
    check(t, c, "memory", r->step_calls == 0, error);
    snprintf(error, sizeof error, "peak_bytes is %lld", (long long)r->peak_bytes);
    check(t, c, "memory", r->peak_bytes > 0, error);
    snprintf(error, sizeof error, "mtf_close left %ld allocations", r->live);
    check(t, c, "memory", r->live == 0, error);
}

/* One thread and three give what two do: the same bits, or where BLAS may round otherwise, what is
 * expected. */
static void check_threads(tally *t, const test_case *c, const case_run *two)
{
    static const struct {
        int         threads;
        const char *name;
    } others[] = {{1, "one thread"}, {3, "three threads"}};
    for (size_t k = (size_t)asked_much(0, 1); k < sizeof others / sizeof *others; k++) {
        case_run r;
        if (!run_case(c, "cpu", others[k].threads, &r))
            check(t, c, others[k].name, false, r.error);
        else if (two->products)
            for (int i = 0; i < c->nexpected; i++) check_value(t, c, &c->expected[i], &r.values[i]);
        else
            check_same(t, c, others[k].name, two, &r);
        run_free(c, &r);
    }
}

static void check_runs(tally *t, const test_case *c)
{
    case_run cpu, again;
    bool     ran = run_case(c, "cpu", 2, &cpu);
    if (check(t, c, "cpu", ran, cpu.error)) {
        for (int i = 0; i < c->nexpected; i++) check_value(t, c, &c->expected[i], &cpu.values[i]);
        check_memory(t, c, &cpu);
    }
    if (ran && !c->nan) {
        bool ran_again = run_case(c, "check", 2, &again);
        if (c->outside)
            check(t, c, "check device", !ran_again && strstr(again.error, "whose positions are"),
                  ran_again ? "an index out of range was not found" : again.error);
        else if (ran_again)
            check_same(t, c, "check device", &cpu, &again);
        else
            check(t, c, "check device", false, again.error);
        run_free(c, &again);
    }
    if (ran) check_threads(t, c, &cpu);
    run_free(c, &cpu);
}

/* ---- crashes ---- */

/* The path of the case that runs, for the handler alone. */
static const char *volatile running;

/* Names the case, then lets the signal have its way. */
static void crashed(int number)
{
    static const char why[] = ": crashed\n";
    ssize_t           done = write(STDOUT_FILENO, running, strlen(running));
    done += write(STDOUT_FILENO, why, sizeof why - 1);
    (void)done;
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_crashes(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction now;
        /* A sanitizer's own handler says more than ours. */
        if (!sigaction(numbers[i], NULL, &now) && now.sa_handler == SIG_DFL)
            signal(numbers[i], crashed);
    }
}

/* ---- one case, all cases ---- */

static void run_file(tally *t, const char *file)
{
    test_case c;
    char      error[ERROR_ROOM] = "";
    running = file + strlen(folder);
    bool read = case_read(&c, file, file + strlen(folder), error, ERROR_ROOM);
    if (check(t, &c, "file", read, error) && check_text(t, &c)) {
        check_runs(t, &c);
        if (c.gradient > 0) {
            int failed, orders = check_gradients(&c, &failed, error);
            t->passed += orders - failed;
            t->failed += failed;
            if (failed) printf("%s: gradient: %s\n", c.path, error);
        }
    }
    case_free(&c);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    tally  t = {0};
    glob_t found;
    watch_crashes();
    if (glob(MTF_SOURCE_DIR "/tests/cases/*/*.mtf", 0, NULL, &found)) {
        printf("no cases under %s\n", folder);
        t.failed++;
    } else {
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (argc < 2 || strstr(found.gl_pathv[i] + strlen(folder), argv[1]))
                run_file(&t, found.gl_pathv[i]);
        globfree(&found);
    }
    printf("test_cases: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
