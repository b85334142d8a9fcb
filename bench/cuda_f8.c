/* Products in f8 against products in bf16, on a GPU.
 *
 * A feed-forward layer's first product as training makes it: weights in f32, activations
 * in bf16; scaling, rounding and transposing to f8 included.
 */
#include "cuda_f8.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpt2.h"
#include "run/store.h"

enum { STEPS = 20 }; /* of a run, so that starting and waiting do not matter */

typedef struct layer {
    mtf_session *session;
    mtf_program *program;
} layer;

static void run_layer(void *context)
{
    layer *l = context;
    for (int i = 0; i < STEPS; i++) mtf_step(l->program);
    store_wait(store_of(l->session));
}

/* Numbers of different magnitudes, so that no product is one of zeros. */
static bool feed(mtf_program *p, mtf_tensor *x)
{
    int64_t   n = mtf_shape_size(mtf_shape_of_tensor(x));
    uint16_t *values = malloc((size_t)n * sizeof *values); /* bf16 */
    for (int64_t i = 0; values && i < n; i++) values[i] = (uint16_t)(0x3f00 + i * 7919 % 256);
    bool fed = values && mtf_feed(p, x, values);
    free(values);
    return fed;
}

/* The product alone, or with the gradients of both factors. */
static bool open_layer(layer *l, bool f8, bool backward)
{
    mtf_dim rows = {"rows", gpt2_is_tiny() ? 32 : 65536};
    mtf_dim in = {"in", gpt2_is_tiny() ? 16 : 768}, out = {"out", gpt2_is_tiny() ? 48 : 3072};
    l->session = mtf_open_with(&(mtf_session_opts){.device = "cuda"});
    mtf_graph  *g = mtf_graph_new(l->session);
    mtf_tensor *x = mtf_input(g, "x", MTF_BF16, mtf_shape(rows, in));
    mtf_tensor *w = mtf_cast(mtf_variable(g, "w", mtf_shape(in, out), NULL), MTF_BF16);
    mtf_shape   shape = mtf_shape(rows, out);
    mtf_tensor *y = f8 ? mtf_einsum_f8(shape, x, w) : mtf_einsum(shape, x, w);
    if (!backward) {
        l->program = mtf_compile(g, y);
        return feed(l->program, x) && mtf_ok(l->session);
    }
    mtf_tensor *dy = mtf_input(g, "dy", MTF_BF16, shape), *grads[2];
    mtf_gradients(1, &y, 2, (mtf_tensor *[]){x, w}, &dy, grads);
    l->program = mtf_compile(g, y, grads[0], grads[1]);
    return feed(l->program, x) && feed(l->program, dy) && mtf_ok(l->session);
}

static void race(bench *b, const char *name, bool backward)
{
    layer  f8 = {0}, bf16 = {0};
    racer  racers[] = {{run_layer, &f8, 0, NULL}, {run_layer, &bf16, 0, NULL}};
    figure f = {.group = "cuda", .versus = "f8 : bf16", .aim = AT_LEAST};
    if (!bench_wants(b, name)) return;
    bench_progress(b, "%s", name);
    if (open_layer(&f8, true, backward) && open_layer(&bf16, false, backward)) {
        bench_race(2, racers, gpt2_is_tiny() ? 0.01 : 1);
        f.seconds = racers[0].best / STEPS, f.other = racers[1].best / STEPS;
        f.target = gpt2_is_tiny() ? 0 : 1;
        snprintf(f.name, sizeof f.name, "%s", name);
        bench_figure(b, &f);
    }
    layer *both[] = {&f8, &bf16};
    for (int k = 0; k < 2; k++) {
        if (!both[k]->session) continue;
        if (!mtf_ok(both[k]->session)) bench_error(b, "%s: %s", name, mtf_error(both[k]->session));
        mtf_close(both[k]->session);
    }
}

void cuda_measure_f8(bench *b)
{
    race(b, "f8 product, 65536 x 768 x 3072", false);
    race(b, "f8 product and its gradients", true);
}
