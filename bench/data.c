/* The input pipeline: against a plain loop over the same bytes, and inside of training. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sorted.h"
#include "groups.h"
#include "mtf_data.h"
#include "networks.h"

enum { PIXELS = 28 * 28, STEPS = 101 };

static mtf_dataset *open_digits(mtf_session *s)
{
    return mtf_dataset_open(
        s, (mtf_field[]){
               {.name = "images",
                .files = MTF_BENCH_DATA "/mnist/train-images-idx3-ubyte.gz",
                .scale = 1.0 / 255},
               {.name = "labels", .files = MTF_BENCH_DATA "/mnist/train-labels-idx1-ubyte.gz"},
               {0}});
}

/* ---- the plain loop ---- */

/* All digits in memory, and a loop that converts a batch of them and copies it to its place. */
typedef struct plain_loop {
    int64_t  count, batch, at;
    uint8_t *pixels, *digits;
    int64_t *order;
    float   *images, *images_place;
    int32_t *labels, *labels_place;
} plain_loop;

static void plain_run(void *context)
{
    plain_loop *p = context;
    if (p->at + p->batch > p->count) p->at = 0;
    for (int64_t i = 0; i < p->batch; i++) {
        const uint8_t *from = p->pixels + p->order[p->at + i] * PIXELS;
        float         *to = p->images + i * PIXELS;
        for (int j = 0; j < PIXELS; j++) to[j] = (float)from[j] * (1.0f / 255);
        p->labels[i] = p->digits[p->order[p->at + i]];
    }
    memcpy(p->images_place, p->images, sizeof(float) * (size_t)(p->batch * PIXELS));
    memcpy(p->labels_place, p->labels, sizeof(int32_t) * (size_t)p->batch);
    p->at += p->batch;
}

static void *take(size_t bytes)
{
    void *memory = calloc(bytes, 1);
    if (!memory) abort();
    return memory;
}

static plain_loop plain_open(mtf_dataset *d, int64_t batch)
{
    plain_loop p = {.count = mtf_dataset_size(d), .batch = batch};
    size_t     n = (size_t)p.count, size = (size_t)batch;
    p.pixels = take(n * PIXELS), p.digits = take(n), p.order = take(n * sizeof *p.order);
    p.images = take(size * PIXELS * sizeof(float)), p.labels = take(size * sizeof(int32_t));
    p.images_place = take(size * PIXELS * sizeof(float)),
    p.labels_place = take(size * sizeof(int32_t));
    for (size_t i = 0; i < n * PIXELS; i++) p.pixels[i] = (uint8_t)(i * 7);
    for (int64_t i = 0; i < p.count; i++) p.order[i] = i * 7919 % p.count;
    return p;
}

static void plain_close(plain_loop *p)
{
    free(p->pixels), free(p->digits), free(p->order), free(p->images), free(p->labels);
    free(p->images_place), free(p->labels_place);
}

/* ---- figures ---- */

static void take_batch(void *batches)
{
    mtf_batches_next(batches);
}

/* Both do all their work in one thread, so that only its time counts. */
static void measure_alone(bench *b, mtf_dataset *d, mtf_program *p, int64_t batch)
{
    mtf_batches *one = mtf_batches_new(d, p, &(mtf_batches_opts){.shuffle = true, .ahead = -1});
    plain_loop   plain = plain_open(d, batch);
    racer        racers[] = {{take_batch, one, 0, NULL}, {plain_run, &plain, 0, NULL}};
    bench_race_single(2, racers, 2);
    figure f = {.group = "data",
                .versus = "batches : plain loop",
                .seconds = racers[0].best,
                .other = racers[1].best,
                .aim = AT_LEAST,
                .target = 0.8};
    snprintf(f.name, sizeof f.name, "MNIST, batch %lld, %.1f M/s", (long long)batch,
             (double)batch / racers[0].best * 1e-6);
    bench_figure(b, &f);
    plain_close(&plain);
    mtf_batches_free(one);
}

/* The median time that a training step waits for its batch. */
static void measure_share(bench *b, mtf_batches *ahead, mtf_program *p, int64_t batch)
{
    double taking[STEPS], stepping[STEPS];
    for (int i = 0; i < STEPS; i++) {
        double begin = clock_seconds();
        mtf_batches_next(ahead);
        double middle = clock_seconds();
        mtf_step(p);
        taking[i] = middle - begin;
        stepping[i] = clock_seconds() - middle;
    }
    sort_numbers(taking, STEPS);
    sort_numbers(stepping, STEPS);
    figure f = {.group = "data",
                .versus = "next batch : step",
                .seconds = taking[STEPS / 2],
                .other = stepping[STEPS / 2],
                .aim = AT_MOST,
                .target = 0.05};
    snprintf(f.name, sizeof f.name, "README's network, batch %lld", (long long)batch);
    bench_figure(b, &f);
}

typedef struct training {
    mtf_batches *batches; /* NULL: what was fed last */
    mtf_program *program;
} training;

static void train_step(void *context)
{
    const training *t = context;
    if (t->batches) mtf_batches_next(t->batches);
    mtf_step(t->program);
}

/* The thread that reads ahead shares the machine with the step. */
static void measure_training(bench *b, mtf_batches *ahead, mtf_program *p, int64_t batch)
{
    training with = {ahead, p}, without = {NULL, p};
    racer    racers[] = {{train_step, &with, 0, NULL}, {train_step, &without, 0, NULL}};
    bench_race(2, racers, 3);
    figure f = {.group = "data",
                .versus = "steps with batches : without",
                .seconds = racers[0].best,
                .other = racers[1].best,
                .aim = AT_MOST,
                .target = 1.1};
    snprintf(f.name, sizeof f.name, "README's network, batch %lld", (long long)batch);
    bench_figure(b, &f);
}

static void measure(bench *b, int64_t batch)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_program *p = mtf_compile(g, network_digits(g, batch, 0.1f));
    mtf_dataset *d = open_digits(s);
    bench_progress(b, "data, batch %lld", (long long)batch);
    if (mtf_ok(s)) measure_alone(b, d, p, batch);
    mtf_batches *ahead = mtf_batches_new(d, p, &(mtf_batches_opts){.shuffle = true});
    if (mtf_ok(s)) measure_share(b, ahead, p, batch);
    if (mtf_ok(s)) measure_training(b, ahead, p, batch);
    if (!mtf_ok(s)) bench_error(b, "data: %s", mtf_error(s));
    mtf_close(s);
}

void data_measure(bench *b)
{
    measure(b, 100);
    measure(b, 2048);
}
