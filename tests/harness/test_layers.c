/* Runs every layer against stored references, differences, and layouts.
 *
 * A layer is built by layer_rows.c and printed; its text and the lines of
 * layer_values.h (tests/reference/layers.py) are a case like those of
 * tests/cases, and are checked like them: values in f64 and in f32, gradients
 * by central differences, legal layouts of several meshes.  With MTF_TEST_DEVICE=cuda values and
 * layouts, on GPUs: a layout of each mesh.
 *
 * Usage: test_layers [part of a name, or SHARE/SHARES] [LIMIT]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asked.h"
#include "harness_mesh.h"
#include "harness_number.h"
#include "layer_rows.h"
#include "layer_values.h"

enum { LIMIT = 120, FAST = 2 };

static const char *const meshes[] = {"x:2", "x:3", "x:2,y:2"};

typedef struct tally {
    int         passed, failed;
    mesh_trials on_gpu;
} tally;

static void check(tally *t, const layer_row *r, const char *what, bool good, const char *why)
{
    if (good)
        t->passed++;
    else {
        t->failed++;
        printf("%s: %s: %s\n", r->name, what, why);
    }
}

/* ---- a layer as a case ---- */

static void add_line(char **text, const char *line)
{
    size_t used = *text ? strlen(*text) : 0;
    char  *more = realloc(*text, used + strlen(line) + 2);
    if (!more) abort();
    sprintf(more + used, "%s\n", line);
    *text = more;
}

/* The row's graph and its directives; to be freed.  NULL: see error. */
static char *text_of(const layer_row *r, mtf_dtype type, char *error)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_graph_new(s);
    char        *text = NULL;
    r->build(g, type);
    const char *printed = mtf_print(g);
    if (!copy_error(s, "build", error)) add_line(&text, printed);
    mtf_close(s);
    if (text && r->lines) add_line(&text, r->lines);
    for (size_t i = 0; text && !r->lines && i < sizeof layer_values / sizeof *layer_values; i++)
        for (int k = 0; !strcmp(layer_values[i].name, r->name) && layer_values[i].lines[k]; k++)
            add_line(&text, layer_values[i].lines[k]);
    return text;
}

/* ---- checks ---- */

static void check_values(tally *t, const layer_row *r, const test_case *c, const char *device)
{
    case_run run;
    bool     ran = run_case(c, device, 2, &run);
    check(t, r, device, ran, run.error);
    for (int i = 0; ran && i < c->nexpected; i++) {
        const case_values *e = &c->expected[i];
        const fetched     *f = &run.values[i];
        char               error[ERROR_ROOM] = "";
        bool               good = e->shape && !strcmp(e->shape, f->shape + strlen("Shape"));
        if (!good) snprintf(error, sizeof error, "%s is %s", e->name, f->shape);
        good = good && numbers_agree(e->numbers, f->data, f->type, f->n,
                                     (closeness){c->tolerance, c->relative}, error, ERROR_ROOM);
        check(t, r, e->name, good, error);
    }
    run_free(c, &run);
}

static void check_gradient(tally *t, const layer_row *r, const test_case *c)
{
    char error[ERROR_ROOM] = "";
    int  failed, orders = check_gradients(c, &failed, error);
    t->passed += orders - failed;
    t->failed += failed;
    if (failed) printf("%s: gradient: %s\n", r->name, error);
}

static void check_layouts(tally *t, const test_case *c, int limit)
{
    mesh_trials trials = {.c = c, .f64 = 1e-9, .f32 = 1e-4, .limit = limit};
    if (trials_begin(&trials))
        for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) trials_on(&trials, meshes[i]);
    trials_end(&trials);
    t->passed += trials.passed;
    t->failed += trials.failed;
}

/* f64 on one processor only: layouts do not depend on the type. */
static void check_on_gpu(tally *t, const layer_row *r, const test_case *c, bool layouts)
{
    if (!r->lines) check_values(t, r, c, t->on_gpu.device);
    t->on_gpu.c = c;
    if (layouts) trials_on_gpu(&t->on_gpu);
}

static void check_on_cpu(tally *t, const layer_row *r, const test_case *c, bool f64, int limit)
{
    if (!r->lines) check_values(t, r, c, f64 ? "check" : "cpu");
    if (f64 && !r->lines && c->gradient) check_gradient(t, r, c);
    if (f64) check_layouts(t, c, limit);
}

static void run_row(tally *t, const layer_row *r, int limit)
{
    static const mtf_dtype types[] = {MTF_F64, MTF_F32};
    for (int i = 0; i < 2; i++) {
        test_case c = {0};
        char      error[ERROR_ROOM] = "";
        char     *text = text_of(r, types[i], error);
        bool      good = text && case_take(&c, text, r->name, error, ERROR_ROOM) && c.nexpected;
        check(t, r, "case", good, error[0] ? error : "nothing is expected of it");
        if (good && i) c.tolerance = 2e-5;
        if (good && t->on_gpu.device) check_on_gpu(t, r, &c, i == 1);
        if (good && !t->on_gpu.device) check_on_cpu(t, r, &c, i == 0, limit);
        case_free(&c);
    }
    fflush(stdout);
}

/* Stored values that no row asks for are a mistake. */
static void check_table(tally *t)
{
    for (size_t i = 0; i < sizeof layer_values / sizeof *layer_values; i++) {
        const layer_row *r = layer_rows;
        while (r->name && strcmp(r->name, layer_values[i].name)) r++;
        check(t, &(layer_row){.name = layer_values[i].name}, "table", r->name, "no row builds it");
    }
}

int main(int argc, char **argv)
{
    int         limit = argc > 2 ? atoi(argv[2]) : asked_device() ? 1 : asked_much(LIMIT, FAST);
    mesh_trials on_gpu = {.f32 = 1e-5, .limit = limit, .device = asked_device(), .more = 2};
    tally       t = {.on_gpu = on_gpu};
    share       mine;
    asked_hold_gpu();
    const char *part = share_read(argc > 1 ? argv[1] : NULL, &mine) || argc < 2 ? "" : argv[1];
    for (const layer_row *r = layer_rows; r->name; r++)
        if (strstr(r->name, part) && share_has(mine, (int)(r - layer_rows))) run_row(&t, r, limit);
    check_table(&t);
    trials_print_farthest(&t.on_gpu);
    t.passed += t.on_gpu.passed, t.failed += t.on_gpu.failed;
    printf("test_layers: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
