/* Products against GEMM calls, the rest against memory bandwidth.
 *
 * Each step of a small graph races the best that the machine does: the same
 * product by bare calls of the matrix library, or a pass over as many bytes.
 */

#include <stdio.h>
#include <stdlib.h>

#include "bare.h"
#include "groups.h"
#include "step.h"

static const mtf_dim rows = {"rows", 16384}, columns = {"columns", 1024};
static const int64_t elements = 16384 * 1024; /* of both: 64 MiB of f32 */
static const double  race_seconds = 1.0;

/* ---- figures ---- */

static void add(bench *b, const char *name, const char *than, const racer *r, double other,
                double target)
{
    figure f = {
        .group = "kernels", .seconds = r->best, .other = other, .aim = AT_LEAST, .target = target};
    snprintf(f.name, sizeof f.name, "%s", name);
    snprintf(f.versus, sizeof f.versus, "mtf : %s", than);
    bench_figure(b, &f);
}

/* The step against one limit that moves or computes the same. */
static void race_limit(bench *b, const char *name, step *s, limit *l, double target)
{
    racer racers[] = {{step_run, s, 0, NULL}, {l->run, l, 0, NULL}};
    bench_progress(b, "%s", name);
    if (s->program &&
        mtf_ok(s->session)) { /* a failing step takes no time, and would be repeated forever */
        bench_race(2, racers, race_seconds);
        add(b, name, l->name, &racers[0], racers[1].best * l->scale, target);
    }
    step_close(b, s);
}

/* The same against the slower of two: one that computes as much and one that moves as much. */
static void race_limits(bench *b, const char *name, step *s, limit *l, limit *other, double target)
{
    racer racers[] = {{step_run, s, 0, NULL}, {l->run, l, 0, NULL}, {other->run, other, 0, NULL}};
    bench_progress(b, "%s", name);
    bench_race(3, racers, 2 * race_seconds);
    bool second = racers[2].best > racers[1].best;
    add(b, name, second ? other->name : l->name, &racers[0], racers[second ? 2 : 1].best, target);
    step_close(b, s);
}

/* ---- products ---- */

static void measure_products(bench *b, const float *values)
{
    static const int64_t sizes[][3] = {{1024, 1024, 1024}, {4096, 1024, 1024}};
    for (int k = 0; k < 8; k++) {
        const int64_t *size = sizes[k / 4];
        bool           a_transposed = k & 1, b_transposed = k & 2;
        char           name[64];
        mtf_dim        m = {"m", size[0]}, n = {"n", size[1]}, inner = {"k", size[2]};
        step           s = step_open();
        mtf_tensor    *x = step_input(&s, a_transposed ? mtf_shape(inner, m) : mtf_shape(m, inner));
        mtf_tensor    *y = step_input(&s, b_transposed ? mtf_shape(n, inner) : mtf_shape(inner, n));
        limit          l = limit_product(m.size, n.size, inner.size, a_transposed, b_transposed);
        step_compile(&s, mtf_einsum(mtf_shape(m, n), x, y), values);
        snprintf(name, sizeof name, "einsum %s,%s %lld %lld %lld", a_transposed ? "km" : "mk",
                 b_transposed ? "nk" : "kn", (long long)m.size, (long long)n.size,
                 (long long)inner.size);
        race_limit(b, name, &s, &l, 0.97);
        limit_free(&l);
    }
}

/* q.k and weights.v of attention; its tensors are written [batch, length, heads, depth]. */
static void measure_attention(bench *b, const float *values)
{
    mtf_dim   batch = {"batch", 8}, heads = {"heads", 8}, depth = {"depth", 64};
    mtf_dim   length = {"length", 256}, memory = {"memory", 256};
    mtf_shape query = mtf_shape(batch, length, heads, depth);
    mtf_shape key = mtf_shape(batch, memory, heads, depth);
    mtf_shape weight = mtf_shape(batch, heads, length, memory);
    for (int k = 0; k < 2; k++) {
        step        s = step_open();
        mtf_tensor *x = step_input(&s, k ? weight : query), *y = step_input(&s, key);
        limit       l = limit_attention(batch.size, heads.size, length.size, depth.size, k);
        step_compile(&s, mtf_einsum(k ? query : weight, x, y), values);
        race_limit(b, k ? "attention, weights.v" : "attention, q.k", &s, &l, 0.9);
        limit_free(&l);
    }
}

/* Attention to what came before, and its gradients: as one operation, or as products with a softmax in
 * between; 2 x 12 heads of 64. */
static void compile_attention(step *s, int64_t positions, bool whole, const float *values)
{
    mtf_dim       batch = {"batch", 2}, heads = {"heads", 12}, depth = {"depth", 64};
    mtf_dim       length = {"length", positions}, memory = {whole ? "length" : "memory", positions};
    mtf_shape     query = mtf_shape(batch, length, heads, depth);
    mtf_shape     key = mtf_shape(batch, memory, heads, depth);
    mtf_tensor   *q = step_input(s, query), *k = step_input(s, key), *v = step_input(s, key);
    mtf_tensor   *xs[3] = {q, k, v}, *grads[3], *sums[3], *y;
    const int64_t none_later = 0;
    if (whole) {
        mtf_attention_op_opts how = {.query = "length",
                                     .memory = "length",
                                     .key = "depth",
                                     .value = "depth",
                                     .scale = 0.125,
                                     .max_relative = &none_later};
        y = mtf_attention(q, k, v, &how, NULL);
    } else {
        mtf_tensor *later =
            mtf_greater(mtf_range(s->graph, memory, MTF_I32), mtf_range(s->graph, length, MTF_I32));
        mtf_tensor *s0 = mtf_einsum(mtf_shape(batch, heads, length, memory), q, k);
        mtf_tensor *mask = mtf_scale(mtf_cast(later, MTF_F32), -1e9);
        mtf_tensor *w = mtf_softmax(mtf_add(mtf_scale(s0, 0.125), mask), memory, NULL);
        y = mtf_einsum(query, w, v);
    }
    mtf_gradients(1, &y, 3, xs, NULL, grads);
    for (int i = 0; i < 3; i++) sums[i] = mtf_reduce_sum(grads[i], MTF_ALL);
    step_compile(s, mtf_add_n(3, sums), values);
}

static void measure_causal(bench *b, const float *values)
{
    static const int64_t lengths[] = {256, 1024};
    for (int k = 0; k < 2; k++) {
        int64_t n = lengths[k];
        step    one = step_open(), composed = step_open();
        limit   l = limit_product(1024, 1024, 1024, false, false);
        racer   racers[] = {
              {step_run, &one, 0, NULL}, {step_run, &composed, 0, NULL}, {l.run, &l, 0, NULL}};
        char name[64];
        compile_attention(&one, n, true, values);
        compile_attention(&composed, n, false, values);
        snprintf(name, sizeof name, "attention, causal, length %lld", (long long)n);
        bench_progress(b, "%s", name);
        if (mtf_ok(one.session) && mtf_ok(composed.session)) {
            /* Two products forward, five backward, of the pairs that see each other. */
            double flops = 2.0 * 12 * (double)n * (double)(n + 1) / 2 * 64 * 14;
            bench_race(3, racers, 2 * race_seconds);
            add(b, name, "composed", &racers[0], racers[1].best, k ? 1.5 : 1.2);
            add(b, name, "flops of its products", &racers[0],
                racers[2].best * flops / (2.0 * 1024 * 1024 * 1024), k ? 0.7 : 0.6);
        }
        limit_free(&l);
        step_close(b, &one);
        step_close(b, &composed);
    }
}

/* One position of 12 heads attends to 8192: as in decoding, keys and values are read once. */
static void measure_decoding(bench *b, const float *values)
{
    mtf_dim     heads = {"heads", 12}, depth = {"depth", 64}, memory = {"memory", 8192};
    step        s = step_open();
    mtf_tensor *q = step_input(&s, mtf_shape(heads, depth));
    mtf_tensor *k = step_input(&s, mtf_shape(heads, memory, depth)),
               *v = step_input(&s, mtf_shape(heads, memory, depth));
    limit l = limit_read(2 * heads.size * memory.size * depth.size);
    step_compile(&s,
                 mtf_attention(
                     q, k, v,
                     &(mtf_attention_op_opts){.memory = "memory", .key = "depth", .value = "depth"},
                     NULL),
                 values);
    race_limit(b, "attention of one position to 8192", &s, &l, 0.7);
    limit_free(&l);
}

/* A convolution and its two gradients, which each read two of three tensors, against a product of as many flops
 * that suits the library. */
static void measure_convolution(bench *b, const float *values)
{
    static const char *const names[] = {"conv2d 3x3, 128 channels", "its gradient of the input",
                                        "its gradient of the filter"};
    mtf_dim                  batch = {"batch", 8}, height = {"height", 56}, width = {"width", 56};
    mtf_dim                  channels = {"channels", 128}, outputs = {"outputs", 128};
    mtf_dim                  down = {"down", 3}, across = {"across", 3};
    mtf_shape                filter = mtf_shape(down, across, channels, outputs);
    mtf_shape                image = mtf_shape(batch, height, width, channels);
    mtf_shape                result = mtf_shape(batch, height, width, outputs);
    for (int k = 0; k < 3; k++) {
        step        s = step_open();
        mtf_tensor *x = k == 1 ? mtf_variable(s.graph, "x", image, NULL) : step_input(&s, image);
        mtf_tensor *w = k == 2 ? mtf_variable(s.graph, "w", filter, NULL) : step_input(&s, filter);
        mtf_tensor *y = mtf_conv2d(x, w, NULL), *of = k == 1 ? x : w, *gradient = y;
        limit       l = limit_product(1024, 1024, 1024, false, false);
        l.scale = (double)(mtf_shape_size(filter) * batch.size * height.size * width.size) /
                  (double)(l.m * l.n * l.k);
        if (k > 0)
            mtf_gradients(1, &y, 1, &of, (mtf_tensor *[]){step_input(&s, result)}, &gradient);
        step_compile(&s, gradient, values);
        race_limit(b, names[k], &s, &l, 0.6);
        limit_free(&l);
    }
}

/* ---- passes over memory ---- */

/* Against a triad, which a bare loop of the same is compared with, too: four arrays are slower than three,
 * for any code. */
static void measure_relu(bench *b, const float *values)
{
    static const char *const name = "relu(a*b+c), 64 MiB each";
    mtf_shape                shape = mtf_shape(rows, columns);
    step                     s = step_open();
    mtf_tensor *x = step_input(&s, shape), *y = step_input(&s, shape), *z = step_input(&s, shape);
    limit       triad = limit_triad(elements), bare = limit_relu(elements);
    racer       racers[] = {
              {step_run, &s, 0, NULL}, {triad.run, &triad, 0, NULL}, {bare.run, &bare, 0, NULL}};
    triad.scale = 4.0 / 3.0; /* three arrays in, one out; the triad has one less */
    step_compile(&s, mtf_relu(mtf_add(mtf_multiply(x, y), z)), values);
    bench_progress(b, "%s", name);
    if (s.program && mtf_ok(s.session)) {
        bench_race(3, racers, 2 * race_seconds);
        add(b, name, triad.name, &racers[0], racers[1].best * triad.scale, 0.9);
        add(b, name, triad.name, &racers[2], racers[1].best * triad.scale, 0);
        snprintf(b->figures[b->count - 1].versus, sizeof b->figures[0].versus, "%s : %s", bare.name,
                 triad.name);
    }
    step_close(b, &s);
    limit_free(&triad);
    limit_free(&bare);
}

/* One line for all, and a number for each: as a bias and as a norm's scale do it. */
static void measure_lines(bench *b, const float *values)
{
    limit copy = limit_copy(elements);
    for (int64_t length = 256; length <= 1024; length *= 4) {
        mtf_dim   line = {"line", length}, lines = {"lines", elements / length};
        mtf_shape shape = mtf_shape(lines, line);
        char      name[64];
        step      biased = step_open(), scaled = step_open();
        step_compile(
            &biased,
            mtf_relu(mtf_add(step_input(&biased, shape), step_input(&biased, mtf_shape(line)))),
            values);
        snprintf(name, sizeof name, "relu(x + bias), lines of %lld, 64 MiB", (long long)length);
        race_limit(b, name, &biased, &copy, 0.85);
        mtf_tensor *x = step_input(&scaled, shape), *by = step_input(&scaled, mtf_shape(lines));
        step_compile(&scaled,
                     mtf_multiply(mtf_multiply(x, by), step_input(&scaled, mtf_shape(line))),
                     values);
        snprintf(name, sizeof name, "x * norm * scale, lines of %lld, 64 MiB", (long long)length);
        race_limit(b, name, &scaled, &copy, 0.85);
    }
    limit_free(&copy);
}

static void measure_elementwise(bench *b, const float *values)
{
    static const struct {
        const char *name;
        mtf_tensor *(*function)(mtf_tensor *x);
    } functions[] = {{"gelu", mtf_gelu}, {"exp", mtf_exp}, {"tanh", mtf_tanh}};
    mtf_shape shape = mtf_shape(rows, columns);
    limit     copy = limit_copy(elements);
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        char name[64];
        step s = step_open();
        step_compile(&s, functions[k].function(step_input(&s, shape)), values);
        snprintf(name, sizeof name, "%s, 64 MiB", functions[k].name);
        limit by_hand = limit_function(functions[k].name, elements);
        if (by_hand.run)
            race_limits(b, name, &s, &by_hand, &copy, 0.85);
        else
            race_limit(b, name, &s, &copy, 0); /* nothing to compare with: no target */
        limit_free(&by_hand);
    }
    limit_free(&copy);
}

/* Against the longer of reading and writing once and of an exp of everything. */
static void measure_softmax(bench *b, const float *values)
{
    mtf_shape shape = mtf_shape(rows, columns);
    step      softmax = step_open(), exponential = step_open();
    limit     copy = limit_copy(elements);
    racer     racers[] = {{step_run, &softmax, 0, NULL},
                          {step_run, &exponential, 0, NULL},
                          {copy.run, &copy, 0, NULL}};
    step_compile(&softmax, mtf_softmax(step_input(&softmax, shape), columns, NULL), values);
    step_compile(&exponential, mtf_exp(step_input(&exponential, shape)), values);
    bench_progress(b, "softmax");
    bench_race(3, racers, 2 * race_seconds);
    bool by_exp = racers[1].best > racers[2].best;
    add(b, "softmax over the last dimension, 64 MiB", by_exp ? "exp" : "copy", &racers[0],
        by_exp ? racers[1].best : racers[2].best, 1.3);
    b->figures[b->count - 1].aim = AT_MOST;
    step_close(b, &softmax);
    step_close(b, &exponential);
    limit_free(&copy);
}

static void measure_matrix_vector(bench *b, const float *values)
{
    mtf_dim     m = {"m", 4096}, k = {"k", 4096};
    step        s = step_open();
    mtf_tensor *w = step_input(&s, mtf_shape(m, k)), *x = step_input(&s, mtf_shape(k));
    limit       read = limit_read(m.size * k.size);
    step_compile(&s, mtf_einsum(mtf_shape(m), w, x), values);
    race_limit(b, "matrix times vector, 4096 x 4096", &s, &read, 0.85);
    limit_free(&read);
}

void kernels_measure(bench *b)
{
    float *values = malloc(sizeof *values * (size_t)elements);
    if (!values) {
        bench_error(b, "no memory for the kernels' inputs");
        return;
    }
    for (int64_t i = 0; i < elements; i++) values[i] = (float)(i % 17) / 8 - 1;
    measure_products(b, values);
    measure_attention(b, values);
    measure_causal(b, values);
    measure_decoding(b, values);
    measure_convolution(b, values);
    measure_relu(b, values);
    measure_lines(b, values);
    measure_elementwise(b, values);
    measure_softmax(b, values);
    measure_matrix_vector(b, values);
    free(values);
}
