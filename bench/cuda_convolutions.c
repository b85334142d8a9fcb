/* Convolutions of the device cuda: by cuDNN against kernels of our own.
 *
 * Images of 56 x 56 with 128 channels and a filter of 3 x 3: forward, and forward with
 * gradients, in bf16 and in f32 with rounded factors.  Times are also compared with those of
 * as many flops at a round rate.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_kernels.h"
#include "gpt2.h"
#include "run/store.h"

enum { STEPS = 20, IMAGES = 64, SIDE = 56, CHANNELS = 128, TAPS = 3 };
static const double flops_a_second = 400e12;

typedef struct convolution {
    mtf_dtype    type;
    bool         backward;
    mtf_session *session;
    mtf_program *program;
} convolution;

static int64_t batch(void)
{
    return gpt2_is_tiny() ? 1 : IMAGES;
}

static int64_t channels(void)
{
    return gpt2_is_tiny() ? 8 : CHANNELS;
}

static int64_t side(void)
{
    return gpt2_is_tiny() ? 8 : SIDE;
}

static void run(void *context)
{
    convolution *c = context;
    for (int i = 0; i < STEPS; i++) mtf_step(c->program);
    store_wait(store_of(c->session));
}

static bool open_convolution(convolution *c)
{
    c->session = mtf_open_with(&(mtf_session_opts){.device = "cuda", .tf32 = true});
    mtf_graph  *g = mtf_graph_new(c->session);
    mtf_dim     n = {"n", batch()}, h = {"h", side()}, w = {"w", side()}, in = {"c", channels()};
    mtf_dim     out = {"o", channels()}, th = {"th", TAPS}, tw = {"tw", TAPS};
    mtf_tensor *x[3] = {mtf_input(g, "x", c->type, mtf_shape(n, h, w, in)),
                        mtf_input(g, "f", c->type, mtf_shape(th, tw, in, out))};
    mtf_tensor *d[2], *y = mtf_conv2d(x[0], x[1], NULL);
    if (c->backward) {
        x[2] = mtf_input(g, "dy", c->type, mtf_shape(n, h, w, out));
        mtf_gradients(1, &y, 2, x, &x[2], d);
    }
    c->program = c->backward ? mtf_compile(g, y, d[0], d[1]) : mtf_compile(g, y);
    bool ready = mtf_ok(c->session);
    for (int k = 0; ready && k < (c->backward ? 3 : 2); k++)
        ready = cuda_feed_random(c->program, x[k], (uint32_t)k);
    return ready && mtf_step(c->program);
}

/* By kernels of our own: a session decides when it is opened. */
static bool open_own(convolution *c)
{
    const char *said = getenv("MTF_CUDNN");
    char       *kept = said ? strdup(said) : NULL;
    setenv("MTF_CUDNN", "no", 1);
    bool ready = open_convolution(c);
    if (kept)
        setenv("MTF_CUDNN", kept, 1);
    else
        unsetenv("MTF_CUDNN");
    free(kept);
    return ready;
}

/* The gradients are two more products of the same sizes. */
static double flops_of(const convolution *c)
{
    double one =
        2.0 * (double)(batch() * side() * side()) * TAPS * TAPS * (double)(channels() * channels());
    return (c->backward ? 3 : 1) * one;
}

static void race(bench *b, mtf_dtype type, bool backward, double target)
{
    convolution by[2] = {{type, backward, NULL, NULL}, {type, backward, NULL, NULL}};
    racer       racers[] = {{run, &by[0], 0, NULL}, {run, &by[1], 0, NULL}};
    char        name[64];
    snprintf(name, sizeof name, "convolution %s, %s", backward ? "and gradients" : "forward",
             type == MTF_F32 ? "tf32" : mtf_dtype_name(type));
    if (!bench_wants(b, name)) return;
    bench_progress(b, "%s", name);
    if (open_convolution(&by[0]) && open_own(&by[1])) {
        bench_race(2, racers, gpt2_is_tiny() ? 0.01 : 1);
        cuda_add(b, name, "mtf : its own kernels", racers[0].best / STEPS, racers[1].best / STEPS,
                 target);
        cuda_add(b, name, "mtf : 400 Tflop/s", racers[0].best / STEPS,
                 flops_of(&by[0]) / flops_a_second, 0);
    }
    for (int k = 0; k < 2; k++) {
        if (!by[k].session) continue;
        if (!mtf_ok(by[k].session)) bench_error(b, "%s: %s", name, mtf_error(by[k].session));
        mtf_close(by[k].session);
    }
}

void cuda_measure_convolutions(bench *b)
{
    for (int backward = 0; backward < 2; backward++) {
        race(b, MTF_BF16, backward, 8);
        race(b, MTF_F32, backward, 0);
    }
}
