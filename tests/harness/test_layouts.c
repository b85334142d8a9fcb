/* Runs every case under every legal layout of several meshes.
 *
 * A layout gives each dimension of the case no axis, one axis, or both. Values
 * and gradients must be those of one processor: integers bit for bit, floats
 * within what another order of summation may change.  Where a mesh has more
 * layouts than LIMIT, a fixed pseudo-random choice of them is taken.
 *
 * Usage: test_layouts [part of a path] [LIMIT]
 */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/node.h"
#include "harness_number.h"
#include "harness_run.h"

static const char folder[] = MTF_SOURCE_DIR "/tests/cases/";

enum { MAX_VALUES = 64, MAX_NAMES = 12, LIMIT = 64 };

typedef struct outcome {
    int     n;
    fetched values[MAX_VALUES];
    char    names[MAX_VALUES][80];
    int     ndims;
    char    dims[MAX_NAMES][64];
    char    error[ERROR_ROOM];
} outcome;

static void outcome_free(outcome *o)
{
    for (int i = 0; i < o->n; i++) free(o->values[i].data);
}

/* ---- one run ---- */

/* Gradients of a weighted sum of the float results with respect to the float feeds. */
static int add_gradients(const test_case *c, mtf_graph *g, mtf_tensor **ys, int n)
{
    mtf_tensor *sum = NULL, *xs[MAX_VALUES], *dxs[MAX_VALUES];
    int         nx = 0;
    for (int i = 0; i < n; i++) {
        mtf_dtype type = mtf_dtype_of_tensor(ys[i]);
        if (!is_float(type)) continue;
        mtf_tensor *w = mtf_random_uniform(g, type, mtf_shape_of_tensor(ys[i]), 0.5, 1.5);
        mtf_tensor *term = mtf_cast(mtf_reduce_sum(mtf_multiply(ys[i], w), MTF_ALL), MTF_F64);
        sum = sum ? mtf_add(sum, term) : term;
    }
    for (int i = 0; i < c->nfeeds && nx < MAX_VALUES; i++) {
        mtf_tensor *x = mtf_find(g, c->feeds[i].name);
        if (x && is_float(mtf_dtype_of_tensor(x))) xs[nx++] = x;
    }
    if (!sum || !nx) return n;
    mtf_gradients(1, &sum, nx, xs, NULL, dxs);
    for (int i = 0; i < nx && n < MAX_VALUES; i++)
        if (dxs[i]) ys[n++] = dxs[i];
    return n;
}

static bool feed_all(const test_case *c, mtf_graph *g, mtf_program *p)
{
    bool good = true;
    for (int i = 0; i < c->nfeeds && good; i++) {
        mtf_tensor *x = mtf_find(g, c->feeds[i].name);
        mtf_dtype   type = mtf_dtype_of_tensor(x);
        int64_t     n = mtf_shape_size(mtf_shape_of_tensor(x));
        void       *data = calloc((size_t)n + 1, 8);
        good = data && numbers_write(c->feeds[i].numbers, type, n, data) && give(p, x, &c->feeds[i], data);
        free(data);
    }
    return good;
}

static void keep(mtf_program *p, mtf_tensor *y, outcome *o)
{
    fetched *f = &o->values[o->n];
    f->type = mtf_dtype_of_tensor(y);
    f->n = mtf_shape_size(mtf_shape_of_tensor(y));
    f->data = calloc((size_t)f->n + 1, 8);
    snprintf(o->names[o->n], sizeof o->names[0], "%s", mtf_name_of_tensor(y));
    mtf_fetch(p, y, f->data);
    o->n++;
}

static void note_dims(mtf_graph *g, outcome *o)
{
    for (int i = 0; i < g->dim_names.room; i++)
        if (g->dim_names.entries[i].name && o->ndims < MAX_NAMES)
            snprintf(o->dims[o->ndims++], sizeof o->dims[0], "%s", g->dim_names.entries[i].name);
}

static bool run_on(const test_case *c, const char *mesh, const char *layout, const char *device, outcome *o)
{
    *o = (outcome){0};
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .mesh = mesh, .layout = layout, .device = device});
    mtf_graph   *g = mtf_parse(s, c->text, c->path);
    mtf_tensor  *ys[MAX_VALUES];
    int          n = 0;
    for (; n < c->nexpected && n < MAX_VALUES / 2; n++) ys[n] = mtf_find(g, c->expected[n].name);
    if (g && c->gradient > 0) n = add_gradients(c, g, ys, n);
    mtf_program *p = mtf_compile_n(g, n, ys);
    bool         good = p && feed_all(c, g, p);
    for (int i = 0; i < c->steps && good; i++) good = mtf_step(p);
    for (int i = 0; i < n && good; i++) keep(p, ys[i], o);
    if (g) note_dims(g, o);
    copy_error(s, "run", o->error);
    mtf_close(s);
    return !o->error[0];
}

/* ---- comparing ---- */

static double allowed(mtf_dtype type)
{
    switch (type) {
    case MTF_F32: return 4e-5;
    case MTF_F64: return 1e-11;
    case MTF_BF16: return 4e-2;
    case MTF_F16: return 5e-3;
    default: return 0;
    }
}

static bool same_value(const fetched *a, const fetched *b, char *error)
{
    double scale = 0.1;
    for (int64_t i = 0; i < a->n && is_float(a->type); i++) {
        double x = fabs(number_at(a->data, a->type, i));
        if (isfinite(x) && x > scale) scale = x;
    }
    for (int64_t i = 0; i < a->n; i++) {
        double x = number_at(a->data, a->type, i), y = number_at(b->data, b->type, i);
        if (x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= allowed(a->type) * scale) continue;
        snprintf(error, ERROR_ROOM, "element %lld is %.9g, on one processor %.9g", (long long)i, y, x);
        return false;
    }
    return true;
}

static bool same_outcome(const outcome *one, const outcome *o, char *error)
{
    for (int i = 0; i < one->n; i++) {
        char why[ERROR_ROOM];
        if (same_value(&one->values[i], &o->values[i], why)) continue;
        snprintf(error, ERROR_ROOM, "%.60s: %.400s", one->names[i], why);
        return false;
    }
    return true;
}

/* ---- layouts ---- */

typedef struct tally {
    int passed, failed, illegal;
} tally;

static void try_layout(tally *t, const test_case *c, const outcome *one, const char *mesh, const char *layout,
                       const char *device)
{
    outcome o;
    char    error[ERROR_ROOM] = "";
    bool    ran = run_on(c, mesh, layout, device, &o);
    if (!ran && strstr(o.error, "has two dimensions on axis")) t->illegal++;
    else if (ran && same_outcome(one, &o, error)) t->passed++;
    else {
        t->failed++;
        printf("%s: --mesh %s --layout %s: %s\n", c->path, mesh, layout, ran ? error : o.error);
    }
    outcome_free(&o);
}

/* Number `index` of the ways to give each dimension one of `choices`. */
static void write_layout(const outcome *one, const char *const *choices, int nchoices, long index, char *text,
                         size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (int d = 0; d < one->ndims; d++) {
        int k = (int)(index % nchoices);
        index /= nchoices;
        if (k) used += (size_t)snprintf(text + used, room - used, "%s%s:%s", used ? "," : "", one->dims[d], choices[k]);
    }
}

static void try_mesh(tally *t, const test_case *c, const outcome *one, const char *mesh,
                     const char *const *choices, int nchoices, int limit)
{
    long     count = 1;
    unsigned state = 12345;
    for (int d = 0; d < one->ndims && count < 1000000000; d++) count *= nchoices;
    bool all = count <= limit;
    for (long k = 0; k < (all ? count : limit); k++) {
        state = state * 1664525u + 1013904223u;
        char layout[1000];
        /* Few dimensions at a time: most choices of many would be illegal. */
        long index = all ? k : (long)(((unsigned long)(state >> 4) << 20 ^ state) % (unsigned long)count);
        write_layout(one, choices, nchoices, index, layout, sizeof layout);
        try_layout(t, c, one, mesh, layout, k % 8 == 3 && !c->nan ? "check" : "cpu");
    }
}

static void run_file(tally *t, const char *file, int limit)
{
    static const char *const one_axis[] = {"", "x"}, *const two_axes[] = {"", "x", "y", "x+y"};
    test_case c;
    outcome   one;
    char      error[ERROR_ROOM] = "";
    if (!case_read(&c, file, file + strlen(folder), error, ERROR_ROOM)) {
        t->failed++;
        printf("%s: %s\n", file, error);
        return;
    }
    if (run_on(&c, NULL, NULL, "cpu", &one)) {
        try_mesh(t, &c, &one, "x:2", one_axis, 2, limit);
        try_mesh(t, &c, &one, "x:3", one_axis, 2, limit);
        try_mesh(t, &c, &one, "x:4", one_axis, 2, limit);
        try_mesh(t, &c, &one, "x:2,y:2", two_axes, 4, limit);
        try_mesh(t, &c, &one, "x:2,y:3", two_axes, 4, limit);
    } else {
        t->failed++;
        printf("%s: one processor: %s\n", c.path, one.error);
    }
    outcome_free(&one);
    case_free(&c);
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    int         limit = argc > 2 ? atoi(argv[2]) : LIMIT;
    tally       t = {0};
    glob_t      files;
    char        pattern[sizeof folder + 16];
    snprintf(pattern, sizeof pattern, "%s*/*.mtf", folder);
    if (glob(pattern, 0, NULL, &files)) return 1;
    for (size_t i = 0; i < files.gl_pathc; i++)
        if (strstr(files.gl_pathv[i] + strlen(folder), part)) run_file(&t, files.gl_pathv[i], limit);
    globfree(&files);
    printf("%d layouts were illegal, as they should be\n", t.illegal);
    printf("test_layouts: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
