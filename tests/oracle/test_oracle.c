/* The oracle itself: it knows every op, and agrees with every case.
 *
 * Expectations of tests/cases come from PyTorch, NumPy and plain loops.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/node.h"
#include "harness/harness_case.h"
#include "harness/harness_number.h"
#include "oracle.h"

#ifndef MTF_SOURCE_DIR
#define MTF_SOURCE_DIR "."
#endif

typedef struct tally {
    int     passed, failed;
    int64_t known, unknown; /* elements whose expectation is finite */
} tally;

static void check(tally *t, const char *what, bool good, const char *why)
{
    if (good)
        t->passed++;
    else {
        t->failed++;
        printf("%s: %s\n", what, why);
    }
}

static void check_catalogue(tally *t)
{
    for (const op *const *o = op_catalogue; *o; o++)
        if (!(*o)->expand)
            check(t, (*o)->name, oracle_knows((*o)->name), "the oracle has no rule for it");
}

/* Feeds what the case says; numbers of the oracle are those that the element type holds. */
static bool feed(oracle *o, mtf_graph *g, const test_case *c)
{
    for (int i = 0; i < c->nfeeds; i++) {
        mtf_tensor *x = mtf_find(g, c->feeds[i].name);
        if (!x) return false;
        int64_t n = mtf_shape_size(x->shape);
        void   *data = calloc((size_t)n + 1, 8);
        number *elements = calloc((size_t)n + 1, sizeof *elements);
        bool    good = data && elements && numbers_write(c->feeds[i].numbers, x->type, n, data);
        for (int64_t k = 0; good && k < n; k++) elements[k] = number_load(x->type, data, k);
        if (good) oracle_give(o, x, elements);
        free(data);
        free(elements);
        if (!good) return false;
    }
    return true;
}

/* The type's own tolerance is what the harness allows the library: here it allows the oracle, which
 * does not round, as much, and what its slack says. */
static bool agrees(tally *t, const value *v, const char *numbers, char *why, size_t room)
{
    char  *end;
    double scale = 0.1;
    for (int64_t i = 0; i < v->n; i++)
        if (number_known(v->at[i])) scale = fmax(scale, fmin(1, fabs(v->at[i].v)));
    double tolerance = v->type == MTF_F64 ? 1e-12 : v->type == MTF_F32 ? 2e-6 : 1e-2;
    for (int64_t i = 0; i < v->n; i++) {
        number    a = v->at[i];
        double    want = strtod(numbers, &end);
        long long whole = strtoll(numbers, NULL, 10);
        if (end == numbers) return false;
        numbers = end;
        if (*numbers == ',') numbers++;
        if (isfinite(want)) *(number_known(a) ? &t->known : &t->unknown) += 1;
        bool good =
            !number_known(a) ? true
            : is_real(v->type)
                ? a.v == want || fabs(a.v - want) <= a.slack + tolerance * (fabs(want) + scale)
                : a.i == whole;
        if (good) continue;
        snprintf(why, room, "element %lld is %.17g, expected %.17g", (long long)i,
                 is_real(v->type) ? a.v : (double)a.i, want);
        return false;
    }
    return true;
}

static void check_case(tally *t, const test_case *c)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s, c->text, c->path);
    oracle      *o = g ? oracle_new(g, 0) : NULL;
    bool         good = o && feed(o, g, c);
    for (int i = 0; i < c->steps && good; i++) good = oracle_step(o);
    check(t, c->path, good, o ? oracle_error(o) : mtf_error(s));
    for (int i = 0; good && i < c->nexpected; i++) {
        char         why[300] = "it has another number of elements";
        const value *v = oracle_value(o, mtf_find(g, c->expected[i].name));
        bool         same = v && agrees(t, v, c->expected[i].numbers, why, sizeof why);
        check(t, c->path, same, why);
    }
    oracle_free(o);
    mtf_close(s);
}

int main(int argc, char **argv)
{
    tally  t = {0};
    glob_t files;
    check_catalogue(&t);
    glob(MTF_SOURCE_DIR "/tests/cases/*/*.mtf", 0, NULL, &files);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        test_case   c;
        char        error[300];
        const char *path = files.gl_pathv[i] + strlen(MTF_SOURCE_DIR "/tests/cases/");
        if (strstr(path, "large/") || (argc > 1 && !strstr(path, argv[1]))) continue;
        if (case_read(&c, files.gl_pathv[i], path, error, sizeof error)) check_case(&t, &c);
        case_free(&c);
    }
    globfree(&files);
    /* A slack that grows too fast would let everything pass. */
    check(&t, "definite elements", t.unknown * 50 < t.known,
          "more than one of fifty is not definite");
    printf("%lld elements definite, %lld not\n", (long long)t.known, (long long)t.unknown);
    printf("test_oracle: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed > 0;
}
