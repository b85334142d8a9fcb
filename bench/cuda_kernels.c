/* Kernels of the device cuda against copies of as many bytes. */
#include "cuda_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt2.h"
#include "machine/device_peers.h"
#include "run/store.h"

enum { STEPS = 20 }; /* of a run, so that starting and waiting do not matter */
static const double share_target = 0.85;

/* One program, or copies of as many bytes as it moves. */
enum { MOST_INPUTS = 2 };
typedef struct kernel {
    mtf_session *session;
    mtf_graph   *graph;
    mtf_program *program;
    int          ninputs;
    mtf_tensor  *inputs[MOST_INPUTS];
    mtf_tensor  *other; /* is fetched as well, if any */
    int64_t      bytes; /* read and written by a step */
    void        *from, *to;
} kernel;

typedef mtf_tensor *builder(kernel *k, mtf_dim rows, mtf_dim columns);

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

static mtf_tensor *fresh(kernel *k, mtf_dtype type, mtf_shape shape)
{
    char name[20];
    snprintf(name, sizeof name, "x%d", k->ninputs);
    return k->inputs[k->ninputs++] = mtf_input(k->graph, name, type, shape);
}

static mtf_tensor *build_gelu(kernel *k, mtf_dim rows, mtf_dim columns)
{
    return mtf_gelu(fresh(k, MTF_BF16, mtf_shape(rows, columns)));
}

/* And the sum of its rows, as the gradient of a bias. */
static mtf_tensor *build_gelu_grad(kernel *k, mtf_dim rows, mtf_dim columns)
{
    mtf_tensor *x = fresh(k, MTF_BF16, mtf_shape(rows, columns));
    mtf_tensor *d = fresh(k, MTF_BF16, mtf_shape(rows, columns));
    mtf_tensor *y = mtf_multiply(d, mtf_gelu_grad(x));
    k->other = mtf_reduce_sum(y, mtf_shape(rows));
    return y;
}

static mtf_tensor *build_norm(kernel *k, mtf_dim rows, mtf_dim columns)
{
    return mtf_layer_norm(fresh(k, MTF_BF16, mtf_shape(rows, columns)), columns, NULL);
}

/* After a sum, which is wanted as well. */
static mtf_tensor *build_residual(kernel *k, mtf_dim rows, mtf_dim columns)
{
    mtf_tensor *x = fresh(k, MTF_BF16, mtf_shape(rows, columns));
    mtf_tensor *y = fresh(k, MTF_BF16, mtf_shape(rows, columns));
    k->other = mtf_add(x, y);
    return mtf_layer_norm(k->other, columns, NULL);
}

/* Of x, with those of scale and bias; with it, what it needs of the norm itself. */
static mtf_tensor *build_norm_grad(kernel *k, mtf_dim rows, mtf_dim columns)
{
    mtf_tensor *x = fresh(k, MTF_BF16, mtf_shape(rows, columns));
    mtf_tensor *d = fresh(k, MTF_BF16, mtf_shape(rows, columns));
    mtf_tensor *y = mtf_layer_norm(x, columns, NULL);
    mtf_tensor *of[3] = {x}, *grads[3] = {NULL};
    mtf_variables(k->graph, of + 1, 2);
    mtf_gradients(1, &y, 3, of, &d, grads);
    k->other = mtf_add(grads[1], grads[2]);
    return grads[0];
}

static mtf_tensor *build_softmax(kernel *k, mtf_dim rows, mtf_dim columns)
{
    return mtf_softmax(fresh(k, MTF_BF16, mtf_shape(rows, columns)), columns, NULL);
}

static mtf_tensor *build_loss(kernel *k, mtf_dim rows, mtf_dim columns)
{
    mtf_tensor *x = fresh(k, MTF_BF16, mtf_shape(rows, columns));
    mtf_tensor *targets = fresh(k, MTF_I32, mtf_shape(rows));
    return mtf_softmax_cross_entropy(mtf_cast(x, MTF_F32), targets, columns);
}

/* Weights, two means, a gradient: all f32. */
static mtf_tensor *build_adam(kernel *k, mtf_dim rows, mtf_dim columns)
{
    mtf_tensor *w = mtf_variable(k->graph, "w", mtf_shape(rows, columns), NULL);
    mtf_tensor *g = fresh(k, MTF_F32, mtf_shape(rows, columns));
    mtf_adam_apply(k->graph, 1, &w, &g, NULL);
    return mtf_reduce_sum(mtf_constant(k->graph, 1, MTF_F32, mtf_shape(rows)), MTF_ALL);
}

/* Floats of either sign between 1 and 2, and small whole numbers. */
static bool feed(kernel *k, mtf_tensor *x)
{
    size_t    count = (size_t)mtf_shape_size(mtf_shape_of_tensor(x));
    mtf_dtype type = mtf_dtype_of_tensor(x);
    uint32_t  bits = 1;
    void     *values = malloc(count * mtf_dtype_bytes(type));
    for (size_t n = 0; values && n < count; n++) {
        bits = bits * 1664525u + 1013904223u;
        if (type == MTF_BF16)
            ((uint16_t *)values)[n] = (uint16_t)(0x3f80u | (bits >> 16 & 0x807fu));
        else
            ((uint32_t *)values)[n] =
                type == MTF_F32 ? 0x3f800000u | (bits & 0x807fffffu) : bits >> 20;
    }
    bool fed = values && mtf_feed(k->program, x, values);
    free(values);
    return fed;
}

static bool open_kernel(kernel *k, builder *build, int64_t nrows, int64_t ncolumns)
{
    mtf_dim rows = {"rows", nrows}, columns = {"columns", ncolumns};
    k->session = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    k->graph = mtf_graph_new(k->session);
    mtf_tensor *y = build(k, rows, columns);
    k->program = k->other ? mtf_compile(k->graph, y, k->other) : mtf_compile(k->graph, y);
    if (!mtf_ok(k->session)) return false;
    for (int n = 0; n < k->ninputs; n++)
        if (!feed(k, k->inputs[n])) return false;
    k->bytes = mtf_program_cost(k->program).bytes;
    store *s = store_of(k->session);
    k->from = s->device->alloc(s->contexts[0], (size_t)k->bytes / 2);
    k->to = s->device->alloc(s->contexts[0], (size_t)k->bytes / 2);
    return k->from && k->to;
}

static void race(bench *b, const char *name, builder *build, int64_t rows, int64_t columns)
{
    kernel k = {0};
    racer  racers[] = {{run_kernel, &k, 0, NULL}, {run_copy, &k, 0, NULL}};
    figure f = {.group = "cuda", .versus = "kernel : copy", .aim = AT_LEAST};
    if (!bench_wants(b, name)) return;
    bench_progress(b, "%s", name);
    if (open_kernel(&k, build, rows, columns)) {
        bench_race(2, racers, gpt2_is_tiny() ? 0.01 : 1);
        f.seconds = racers[0].best / STEPS, f.other = racers[1].best / STEPS;
        f.target = gpt2_is_tiny() ? 0 : share_target;
        snprintf(f.name, sizeof f.name, "%s, %lld x %lld", name, (long long)rows,
                 (long long)columns);
        bench_figure(b, &f);
    }
    store *s = mtf_ok(k.session) ? store_of(k.session) : NULL;
    if (s && k.from) s->device->release(s->contexts[0], k.from, (size_t)k.bytes / 2);
    if (s && k.to) s->device->release(s->contexts[0], k.to, (size_t)k.bytes / 2);
    if (!mtf_ok(k.session)) bench_error(b, "%s: %s", name, mtf_error(k.session));
    mtf_close(k.session);
}

bool cuda_feed_random(mtf_program *p, mtf_tensor *x, uint32_t state)
{
    mtf_dtype type = mtf_dtype_of_tensor(x);
    int64_t   n = mtf_shape_size(mtf_shape_of_tensor(x));
    void     *values = malloc((size_t)n * mtf_dtype_bytes(type));
    for (int64_t k = 0; values && k < n; k++) {
        state = state * 1664525u + 1013904223u;
        uint32_t bits = 0x3f000000u | (state & 0x807f0000u);
        if (type == MTF_BF16)
            ((uint16_t *)values)[k] = (uint16_t)(bits >> 16);
        else
            ((uint32_t *)values)[k] = bits;
    }
    bool fed = values && mtf_feed(p, x, values);
    free(values);
    return fed;
}

void cuda_measure_kernels(bench *b)
{
    int64_t rows = gpt2_is_tiny() ? 8 : 65536, words = gpt2_is_tiny() ? 4 : 8192;
    race(b, "gelu", build_gelu, rows, 3072);
    race(b, "gelu's gradient", build_gelu_grad, rows, 3072);
    race(b, "layer norm", build_norm, rows, 768);
    race(b, "sum and layer norm", build_residual, rows, 768);
    race(b, "layer norm's gradient", build_norm_grad, rows, 768);
    race(b, "softmax", build_softmax, rows, 1024);
    race(b, "softmax", build_softmax, words, 50304);
    race(b, "cross-entropy", build_loss, words, 50304);
    race(b, "Adam", build_adam, rows, 1600);
}
