/* Kernels of the device cuda against copies of as many bytes. */
#include "cuda_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2.h"
#include "run/store.h"

enum { STEPS = 20 }; /* of a run, so that starting and waiting do not matter */
static const double share_target = 0.85;

/* One program, or copies of as many bytes as it moves. */
typedef struct kernel {
    const char  *name;
    mtf_session *session;
    mtf_graph   *graph;
    mtf_program *program;
    int64_t      bytes; /* read and written by a step */
    void        *from, *to;
} kernel;

static void run_kernel(void *context)
{
    kernel *k = context;
    for (int i = 0; i < STEPS; i++) mtf_step(k->program);
    store_wait(store_of(k->session));
}

static void run_copy(void *context)
{
    const kernel   *k = context;
    const store    *s = store_of(k->session);
    device_context *c = s->contexts[0];
    for (int i = 0; i < STEPS; i++) s->device->peers->copy(c, k->to, k->from, k->bytes / 2);
    store_wait(s);
}

/* ---- programs ---- */

static mtf_tensor *fresh(kernel *k, mtf_dtype type, mtf_dim rows, mtf_dim columns)
{
    return mtf_input(k->graph, "x", type, mtf_shape(rows, columns));
}

static mtf_tensor *build(kernel *k, mtf_dim rows, mtf_dim columns)
{
    mtf_tensor *x = fresh(k, MTF_BF16, rows, columns);
    if (strcmp(k->name, "gelu") == 0) return mtf_gelu(x);
    if (strcmp(k->name, "layer norm") == 0) return mtf_layer_norm(x, columns, NULL);
    return mtf_softmax(x, columns, NULL);
}

/* Weights, two means, a gradient: all f32. */
static mtf_tensor *build_adam(kernel *k, mtf_dim rows, mtf_dim columns)
{
    mtf_tensor *w = mtf_variable(k->graph, "w", mtf_shape(rows, columns), NULL);
    mtf_tensor *g = fresh(k, MTF_F32, rows, columns);
    mtf_adam_apply(k->graph, 1, &w, &g, NULL);
    return mtf_reduce_sum(mtf_constant(k->graph, 1, MTF_F32, mtf_shape(rows)), MTF_ALL);
}

static bool open_kernel(kernel *k, int64_t nrows, int64_t ncolumns)
{
    mtf_dim rows = {"rows", nrows}, columns = {"columns", ncolumns};
    k->session = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    k->graph = mtf_graph_new(k->session);
    mtf_tensor *y = strcmp(k->name, "Adam") == 0 ? build_adam(k, rows, columns) : build(k, rows, columns);
    k->program = mtf_compile(k->graph, y);
    mtf_tensor *x = mtf_find(k->graph, "x");
    if (!mtf_ok(k->session)) return false;
    void *values = calloc((size_t)(nrows * ncolumns), mtf_dtype_bytes(mtf_dtype_of_tensor(x)));
    bool  fed = values && mtf_feed(k->program, x, values);
    free(values);
    k->bytes = mtf_program_cost(k->program).bytes;
    store *s = store_of(k->session);
    k->from = s->device->alloc(s->contexts[0], (size_t)k->bytes / 2);
    k->to = s->device->alloc(s->contexts[0], (size_t)k->bytes / 2);
    return fed && k->from && k->to;
}

static void race(bench *b, const char *name, int64_t rows, int64_t columns)
{
    kernel k = {.name = name};
    racer  racers[] = {{run_kernel, &k, 0, NULL}, {run_copy, &k, 0, NULL}};
    figure f = {.group = "cuda", .versus = "kernel : copy", .aim = AT_LEAST};
    if (!bench_wants(b, name)) return;
    bench_progress(b, "%s", name);
    if (open_kernel(&k, rows, columns)) {
        bench_race(2, racers, gpt2_is_tiny() ? 0.01 : 1);
        f.seconds = racers[0].best / STEPS, f.other = racers[1].best / STEPS;
        f.target = gpt2_is_tiny() ? 0 : share_target;
        snprintf(f.name, sizeof f.name, "%s, %lld x %lld", name, (long long)rows, (long long)columns);
        bench_figure(b, &f);
    }
    store *s = mtf_ok(k.session) ? store_of(k.session) : NULL;
    if (s && k.from) s->device->release(s->contexts[0], k.from, (size_t)k.bytes / 2);
    if (s && k.to) s->device->release(s->contexts[0], k.to, (size_t)k.bytes / 2);
    if (!mtf_ok(k.session)) bench_error(b, "%s: %s", name, mtf_error(k.session));
    mtf_close(k.session);
}

void cuda_measure_kernels(bench *b)
{
    int64_t rows = gpt2_is_tiny() ? 8 : 65536, words = gpt2_is_tiny() ? 4 : 8192;
    race(b, "gelu", rows, 3072);
    race(b, "layer norm", rows, 768);
    race(b, "softmax", rows, 1024);
    race(b, "softmax", words, 50304);
    race(b, "Adam", rows, 1600);
}
