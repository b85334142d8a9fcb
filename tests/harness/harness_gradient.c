/* Derivatives against central differences, in f64.
 *
 * L0 is a weighted sum of the expected results; its gradients come from the
 * library, and so do L1, a weighted sum of these gradients, and so on.  The
 * gradient of each Lk is compared with differences of Lk itself: order k + 1.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asked.h"
#include "harness_number.h"
#include "harness_run.h"

/* `make test` takes so many elements of an argument, and some more. */
enum { MAX_ORDER = 3, LEVELS = 3, A_SAMPLE = 12 };

typedef struct argument {
    const case_values *values;
    mtf_tensor        *x;
    int64_t            n;
    double            *data;            /* a float argument's; NULL for the others */
    void              *other;           /* an integer argument's elements          */
    mtf_tensor        *grad[MAX_ORDER]; /* NULL: none, to be taken as zero         */
    double            *found[MAX_ORDER];
} argument;

typedef struct problem {
    const test_case *c;
    mtf_graph       *g;
    mtf_program     *p;
    int              n, order;
    argument        *args;
    mtf_tensor      *sum[MAX_ORDER];
    uint32_t         seed;
} problem;

/* ---- the sums and their gradients ---- */

/* A weight between 0.5 and 1.5, of either sign: no two terms cancel by design. */
static double weight(problem *q)
{
    q->seed = q->seed * 1664525u + 1013904223u;
    double w = 0.5 + (q->seed >> 8) * 0x1p-24;
    return q->seed & 64 ? -w : w;
}

static mtf_tensor *weighted_sum(problem *q, mtf_tensor *y, mtf_tensor *sum)
{
    mtf_shape shape = mtf_shape_of_tensor(y);
    int64_t   n = mtf_shape_size(shape);
    double   *w = calloc((size_t)n + 1, sizeof *w);
    if (!w) return NULL;
    for (int64_t i = 0; i < n; i++) w[i] = weight(q);
    mtf_tensor *r = mtf_constant_data(q->g, w, MTF_F64, shape);
    free(w);
    mtf_tensor *term = mtf_reduce_sum(mtf_multiply(y, r), MTF_ALL);
    return sum ? mtf_add(sum, term) : term;
}

static void differentiate(problem *q)
{
    mtf_tensor *sum = NULL;
    for (int i = 0; i < q->c->nexpected; i++) {
        mtf_tensor *y = mtf_find(q->g, q->c->expected[i].name);
        if (y && mtf_dtype_of_tensor(y) == MTF_F64) sum = weighted_sum(q, y, sum);
    }
    mtf_tensor **xs = calloc(2 * (size_t)q->n + 2, sizeof *xs), **grads = xs + q->n + 1;
    int          nx = 0;
    for (int i = 0; i < q->n; i++)
        if (q->args[i].data) xs[nx++] = q->args[i].x;
    int most = q->c->gradient < MAX_ORDER ? q->c->gradient : MAX_ORDER;
    for (q->order = 0; q->order < most && sum && nx; q->order++) {
        q->sum[q->order] = sum;
        mtf_gradients(1, &sum, nx, xs, NULL, grads);
        sum = NULL;
        for (int i = 0, k = 0; i < q->n; i++) {
            if (!q->args[i].data) continue;
            mtf_tensor *d = grads[k++];
            q->args[i].grad[q->order] = d;
            if (d) sum = weighted_sum(q, d, sum);
        }
    }
    free(xs);
}

static void compile(problem *q)
{
    mtf_tensor **list = calloc((size_t)(q->n + 1) * MAX_ORDER, sizeof *list);
    int          n = 0;
    for (int k = 0; list && k < q->order; k++) {
        list[n++] = q->sum[k];
        for (int i = 0; i < q->n; i++)
            if (q->args[i].grad[k]) list[n++] = q->args[i].grad[k];
    }
    q->p = list && n ? mtf_compile_n(q->g, n, list) : NULL;
    free(list);
}

/* ---- values ---- */

static bool take_arguments(problem *q, char *error)
{
    q->n = q->c->nfeeds;
    q->args = calloc((size_t)q->n + 1, sizeof *q->args);
    for (int i = 0; q->args && i < q->n; i++) {
        argument *a = &q->args[i];
        a->values = &q->c->feeds[i];
        a->x = mtf_find(q->g, a->values->name);
        if (!a->x) return false;
        mtf_dtype type = mtf_dtype_of_tensor(a->x);
        a->n = mtf_shape_size(mtf_shape_of_tensor(a->x));
        void *data = calloc((size_t)a->n, sizeof(double));
        if (!data || !numbers_write(a->values->numbers, type, a->n, data)) {
            snprintf(error, ERROR_ROOM, "feed of %s: not %lld numbers", a->values->name,
                     (long long)a->n);
            free(data);
            return false;
        }
        if (is_float(type))
            a->data = data;
        else
            a->other = data;
    }
    return q->args;
}

/* One step at the arguments' present values; assignments of an earlier one are undone. */
static bool evaluate(problem *q)
{
    for (int i = 0; i < q->n; i++) {
        const argument *a = &q->args[i];
        if (!give(q->p, a->x, a->values, a->data ? (const void *)a->data : a->other)) return false;
    }
    return mtf_step(q->p);
}

static bool fetch_gradients(problem *q)
{
    if (!evaluate(q)) return false;
    for (int i = 0; i < q->n; i++) {
        argument *a = &q->args[i];
        for (int k = 0; k < q->order && a->data; k++) {
            a->found[k] = calloc((size_t)a->n, sizeof(double));
            if (!a->found[k]) return false;
            if (a->grad[k] && !mtf_fetch(q->p, a->grad[k], a->found[k])) return false;
        }
    }
    return true;
}

/* Derivatives of every sum by element j of an argument: central differences of three widths,
 * extrapolated twice (Romberg), good to about the sixth power of the width. */
static bool differences(problem *q, argument *a, int64_t j, double d[MAX_ORDER])
{
    double x = a->data[j], h = 0x1p-10 * fmax(1, fabs(x)), table[MAX_ORDER][LEVELS] = {{0}};
    for (int level = 0; level < LEVELS; level++, h /= 2) {
        double up = x + h, down = x - h;
        for (int side = 0; side < 2; side++) {
            a->data[j] = side ? down : up;
            if (!evaluate(q)) return false;
            for (int k = 0; k < q->order; k++) {
                double v = mtf_fetch_scalar(q->p, q->sum[k]) / (up - down);
                table[k][level] += side ? -v : v;
            }
        }
    }
    a->data[j] = x;
    for (int k = 0; k < q->order; k++) {
        double *t = table[k], fine = (4 * t[2] - t[1]) / 3, coarse = (4 * t[1] - t[0]) / 3;
        d[k] = (16 * fine - coarse) / 15;
    }
    return true;
}

/* ---- the comparison ---- */

static bool compare(problem *q, bool good[MAX_ORDER], char *error)
{
    for (int i = 0; i < q->n; i++) {
        argument *a = &q->args[i];
        int64_t   step = asked_much(0, (int)(a->n / A_SAMPLE)) + 1;
        for (int64_t j = 0; a->data && j < a->n; j += step) {
            double d[MAX_ORDER];
            if (!differences(q, a, j, d)) return false;
            for (int k = 0; k < q->order; k++) {
                double found = a->found[k][j];
                if (fabs(found - d[k]) <= 1e-6 * fmax(1, fabs(d[k])) || !good[k]) continue;
                good[k] = false;
                size_t used = strlen(error);
                snprintf(error + used, ERROR_ROOM - used,
                         "%sorder %d by %s, element %lld: expected %.9g, found %.9g%s",
                         used ? "; " : "", k + 1, a->values->name, (long long)j, d[k], found,
                         a->grad[k] ? "" : " (no gradient)");
            }
        }
    }
    return true;
}

static void problem_free(problem *q)
{
    for (int i = 0; q->args && i < q->n; i++) {
        free(q->args[i].data);
        free(q->args[i].other);
        for (int k = 0; k < MAX_ORDER; k++) free(q->args[i].found[k]);
    }
    free(q->args);
}

int check_gradients(const test_case *c, int *failed, char *error)
{
    allocations  count;
    problem      q = {.c = c, .seed = 12345};
    bool         good[MAX_ORDER] = {true, true, true}, ran = false;
    char        *text = case_in_f64(c);
    mtf_session *s = text ? open_counted(&count, "cpu", 1) : NULL;
    q.g = s ? mtf_parse(s, text, c->path) : NULL;
    error[0] = 0;
    *failed = 0;
    if (q.g && take_arguments(&q, error)) {
        differentiate(&q);
        if (mtf_ok(s)) compile(&q);
        ran = mtf_ok(s) && (!q.order || (q.p && fetch_gradients(&q) && compare(&q, good, error)));
    }
    if (!ran && !error[0] && !copy_error(s, "in f64", error))
        snprintf(error, ERROR_ROOM, "in f64: failed without a reason");
    problem_free(&q);
    if (s) mtf_close(s);
    free(text);
    if (!ran) return *failed = 1;
    for (int k = 0; k < q.order; k++) *failed += !good[k];
    return q.order;
}
