/* mtf_gpt2: GPT-2 on a GPU, a contestant of the benchmark.
 *
 *     mtf_gpt2 --work train|decode --size 124M|1558M [--device cuda] [--mesh .. --layout ..]
 *     mtf_gpt2 --work first --size ..      prints the seconds of a first step, beyond opening the GPU
 *     mtf_gpt2 --work predict --size .. [--machine ..]     prints seconds of a step: predicted, measured, ratio
 *     mtf_gpt2 --work memory --size ..     prints bytes of the GPU: planned, taken as its driver says, ratio
 *
 * Peak memory is what the GPU's driver says is used beyond what it was once the GPU was opened.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gpt2.h"
#include "price/estimate.h"
#include "run/compiled.h"
#include "run/store.h"
#include "serve.h"

typedef struct contest {
    mtf_session   *session;
    mtf_program   *program;
    mtf_tensor    *loss;
    mtf_decoder   *decoder;
    mtf_decode_job job;
    bool           started;
    int64_t        left; /* bytes, once the GPU was open */
} contest;

/* Bytes that the GPU has left; 0 on the host. */
static int64_t bytes_left(mtf_session *s)
{
    store      *all = store_of(s);
    memory_bank b = {0};
    if (all && all->device->bank) all->device->bank(all->contexts[all->first], &b);
    return b.left;
}

static int64_t bytes_taken(void *context)
{
    contest *c = context;
    return c->left - bytes_left(c->session);
}

/* ---- training ---- */

static void feed_tokens(mtf_program *p, mtf_tensor *targets, int64_t vocab)
{
    int64_t  n = mtf_shape_size(mtf_shape_of_tensor(targets));
    int32_t *ids = malloc(sizeof *ids * (size_t)n);
    uint64_t word = 1;
    for (int64_t i = 0; ids && i < n; i++) {
        word = word * 6364136223846793005u + 1442695040888963407u;
        ids[i] = (int32_t)((word >> 33) % (uint64_t)(vocab - 2)) + 2;
    }
    if (ids) mtf_feed(p, targets, ids);
    free(ids);
}

/* The loss is fetched, so that the step has ended. */
static void take_step(void *context)
{
    contest *c = context;
    mtf_step(c->program);
    mtf_fetch_scalar(c->program, c->loss);
}

static void start_training(contest *c, const gpt2_size *size)
{
    mtf_graph *g = mtf_graph_new(c->session);
    c->loss = gpt2_train(c->session, g, size);
    c->program = mtf_compile(g, c->loss);
    feed_tokens(c->program, mtf_find(g, "targets"), size->vocab);
}

/* ---- predicting ---- */

static double predicted_seconds(const contest *c)
{
    mtf_session  *s = c->session;
    mesh          m = {0};
    layout        rules = {0};
    estimate_opts how = {.processor = -1, .mesh = &m, .layout = &rules};
    bool          ok = rates_default(s, &how.rates) &&
              (!s->opts.machine || rates_choose(s, s->opts.machine, &how.rates)) &&
              mesh_parse(s, s->opts.mesh ? s->opts.mesh : "", &m) &&
              layout_parse(s, s->opts.layout ? s->opts.layout : "", &m, &rules);
    mtf_tensor *loss = c->loss;
    estimate   *e = ok ? estimate_graph(loss->node->graph, 1, &loss, &how) : NULL;
    double      seconds = e ? e->price.seconds : 0;
    estimate_free(e);
    return seconds;
}

/* Steps one after the other, as in training; the first ones compile and record. */
static void compare_prediction(contest *c)
{
    enum { UNCOUNTED = 5, STEPS = 20 };
    double predicted = predicted_seconds(c), begin = 0;
    for (int k = 0; k < UNCOUNTED + STEPS && mtf_ok(c->session); k++) {
        if (k == UNCOUNTED) begin = clock_seconds();
        if (k < UNCOUNTED || k == UNCOUNTED + STEPS - 1)
            take_step(c); /* waits for the loss */
        else
            mtf_step(c->program);
    }
    double measured = (clock_seconds() - begin) / STEPS;
    if (mtf_ok(c->session)) printf("%.6f %.6f %.3f\n", predicted, measured, predicted / measured);
}

/* All processors are on one GPU.  The wire of threads had its memory before. */
static void compare_memory(contest *c)
{
    enum { STEPS = 4 };
    const store *all = store_of(c->session);
    int64_t      planned = 0;
    for (int k = 0; k < STEPS && mtf_ok(c->session); k++) take_step(c);
    if (!mtf_ok(c->session)) return;
    for (int k = all->first; k < all->end; k++)
        planned += price_peak(c->program->processors[k].program, &all->site, &all->mesh, k);
    int64_t taken = bytes_taken(c);
    printf("%lld %lld %.3f\n", (long long)planned, (long long)taken,
           (double)planned / (double)(taken ? taken : 1));
}

/* ---- decoding ---- */

static void start_decoding(contest *c, const gpt2_size *size)
{
    c->decoder = mtf_decoder_new(gpt2_new(c->session, size, true), &(mtf_decoder_opts){.batch = 1});
}

/* One token; where a sequence ends, the next one begins. */
static void take_token(void *context)
{
    static const int32_t prompt[] = {2};
    contest             *c = context;
    if (!c->started || c->job.done) {
        if (c->started) mtf_decode_free(c->decoder, &c->job);
        c->job = (mtf_decode_job){.prompt = prompt, .length = 1, .how = {.never_end = true}};
        c->started = mtf_decode_start(c->decoder, &c->job);
    }
    mtf_decode_step(c->decoder);
}

int main(int argc, char **argv)
{
    contest          c = {.session = mtf_open(argc, argv)};
    gpt2_size        room;
    const char      *work = mtf_option(c.session, "work", "train");
    const gpt2_size *size = gpt2_find(mtf_option(c.session, "size", "124M"), &room);
    if (!size) {
        fputs("mtf_gpt2: --size is 124M or 1558M\n", stderr);
        mtf_close(c.session);
        return 2;
    }
    c.left = bytes_left(c.session);
    double begin = clock_seconds();
    if (strcmp(work, "decode") == 0) {
        start_decoding(&c, size);
        serve_measured(c.session, take_token, bytes_taken, &c);
        return mtf_close(c.session);
    }
    start_training(&c, size);
    if (strcmp(work, "first") == 0) {
        take_step(&c);
        if (mtf_ok(c.session)) printf("%.6f\n", clock_seconds() - begin);
    } else if (strcmp(work, "predict") == 0) {
        compare_prediction(&c);
    } else if (strcmp(work, "memory") == 0) {
        compare_memory(&c);
    } else {
        serve_measured(c.session, take_step, bytes_taken, &c);
    }
    return mtf_close(c.session);
}
