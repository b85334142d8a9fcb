/* Products in bf16 against the same in f32. */
#include <stdio.h>
#include <stdlib.h>

#include "base/chip.h"
#include "base/dtype.h"
#include "groups.h"
#include "step.h"

enum { LARGEST = 4096 * 4096 };

/* y = x w over the dimensions that y lacks. */
typedef struct contest {
    const char *name;
    mtf_shape   x, w, y;
} contest;

/* The same numbers in both types. */
typedef struct numbers {
    float    *wide;
    uint16_t *narrow;
} numbers;

/* Where the chip has no instructions for them, operands are widened first. */
double bf16_target(void)
{
    if (chip_has_avx512_bf16()) return 1.6;
    return chip_has_bfmmla() ? 1.5 : 0.7;
}

static void open_step(step *s, const contest *c, mtf_dtype type, const void *values)
{
    *s = step_open();
    mtf_tensor *x = step_input_of(s, type, c->x), *w = step_input_of(s, type, c->w);
    step_compile(s, mtf_einsum(c->y, x, w), values);
}

static void race(bench *b, const contest *c, const numbers *n)
{
    step   steps[2];
    racer  racers[] = {{step_run, &steps[0], 0, NULL}, {step_run, &steps[1], 0, NULL}};
    figure f = {.group = "bf16", .versus = "bf16 : f32", .aim = AT_LEAST, .target = bf16_target()};
    if (!bench_wants(b, c->name)) return;
    bench_progress(b, "%s", c->name);
    open_step(&steps[0], c, MTF_BF16, n->narrow);
    open_step(&steps[1], c, MTF_F32, n->wide);
    if (mtf_ok(steps[0].session) && mtf_ok(steps[1].session)) {
        bench_race(2, racers, 1);
        f.seconds = racers[0].best, f.other = racers[1].best;
        snprintf(f.name, sizeof f.name, "%s", c->name);
        bench_figure(b, &f);
    }
    step_close(b, &steps[0]);
    step_close(b, &steps[1]);
}

static void race_all(bench *b, const numbers *n)
{
    const mtf_dim m = {"m", 1024}, k = {"k", 1024}, j = {"n", 1024}, one = {"one", 4096},
                  few = {"few", 16}, tall = {"tall", 4096}, batch = {"batch", 8},
                  heads = {"heads", 8}, depth = {"depth", 64}, length = {"length", 256},
                  memory = {"memory", 256};
    mtf_shape     query = mtf_shape(batch, length, heads, depth);
    mtf_shape     key = mtf_shape(batch, memory, heads, depth);
    mtf_shape     weights = mtf_shape(batch, heads, length, memory);
    const contest contests[] = {
        {"mk,kn 1024 1024 1024", mtf_shape(m, k), mtf_shape(k, j), mtf_shape(m, j)},
        {"km,kn 1024 1024 1024", mtf_shape(k, m), mtf_shape(k, j), mtf_shape(m, j)},
        {"mk,nk 1024 1024 1024", mtf_shape(m, k), mtf_shape(j, k), mtf_shape(m, j)},
        {"km,nk 1024 1024 1024", mtf_shape(k, m), mtf_shape(j, k), mtf_shape(m, j)},
        {"mk,kn 4096 1024 1024", mtf_shape(tall, k), mtf_shape(k, j), mtf_shape(tall, j)},
        {"km,kn 1024 1024 4096", mtf_shape(tall, m), mtf_shape(tall, j), mtf_shape(m, j)},
        {"attention, q.k", query, key, weights},
        {"attention, weights.v", weights, key, query},
        {"mk,kn 16 1024 4096", mtf_shape(few, tall), mtf_shape(tall, k), mtf_shape(few, k)},
        {"mk,nk 16 1024 4096", mtf_shape(few, tall), mtf_shape(k, tall), mtf_shape(few, k)},
        {"k,kn 4096 4096", mtf_shape(tall), mtf_shape(tall, one), mtf_shape(one)},
        {"k,nk 4096 4096", mtf_shape(tall), mtf_shape(one, tall), mtf_shape(one)}};
    for (size_t i = 0; i < sizeof contests / sizeof *contests; i++) race(b, &contests[i], n);
}

void bf16_measure(bench *b)
{
    numbers n = {malloc(LARGEST * sizeof(float)), malloc(LARGEST * sizeof(uint16_t))};
    for (int64_t i = 0; i < LARGEST && n.wide && n.narrow; i++) {
        n.wide[i] = (float)(i % 17) / 8 - 1;
        n.narrow[i] = f32_to_bf16(n.wide[i]);
    }
    if (n.wide && n.narrow)
        race_all(b, &n);
    else
        bench_error(b, "no memory for the products' inputs");
    free(n.wide);
    free(n.narrow);
}
