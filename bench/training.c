/* Training steps against their matrix products alone. */
#include <stdio.h>

#include "groups.h"
#include "language_model.h"
#include "mtf.h"
#include "networks.h"
#include "products.h"

/* A network to train on batches of one size. */
typedef struct trained {
    const char *name;
    mtf_tensor *(*build)(mtf_graph *g, int64_t batch);
    int64_t     batch;
    const char *inputs[2]; /* numbers, or tokens; class numbers */
    double      target;
} trained;

static mtf_tensor *build_digits(mtf_graph *g, int64_t batch)
{
    return network_digits(g, batch, 0);
}

static mtf_tensor *build_language_model(mtf_graph *g, int64_t batch)
{
    return language_model(g, &(language_model_opts){.layers = 6, .batch = batch});
}

/* clang-format off */
static const trained networks[] = {
    {"README's network, batch 100",        build_digits,          100, {"images", "labels"},  0.85},
    {"README's network, batch 2048",       build_digits,         2048, {"images", "labels"},  0.9},
    {"4 layers of 1024, batch 512",        network_layers,        512, {"x", "labels"},       0.9},
    {"Transformer of 6 layers, batch 8",   build_language_model,    8, {"tokens", "targets"}, 0.9},
};
/* clang-format on */

static void run_step(void *program)
{
    mtf_step(program);
}

static void measure(bench *b, const trained *t)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *loss = t->build(g, t->batch);
    mtf_program *step = mtf_compile(g, loss);
    products    *alone = step ? products_new(g, loss) : NULL;
    bench_progress(b, "%s", t->name);
    if (alone) {
        for (int i = 0; i < 2; i++) network_feed(step, mtf_find(g, t->inputs[i]));
        racer  racers[] = {{run_step, step, 0, NULL}, {products_run, alone, 0, NULL}};
        figure f = {.group = "training", .aim = AT_LEAST, .target = t->target};
        bench_race(2, racers, 5);
        snprintf(f.name, sizeof f.name, "%s, Adam", t->name);
        snprintf(f.versus, sizeof f.versus, "a step : its GEMMs alone");
        f.seconds = racers[0].best, f.other = racers[1].best;
        bench_figure(b, &f);
    }
    if (!alone || !mtf_ok(s)) bench_error(b, "%s: %s", t->name, mtf_error(s));
    products_free(alone);
    mtf_close(s);
}

/* ---- one way to train the Transformer against another ---- */

/* As it is trained otherwise: on one processor with all cores, in f32. */
typedef struct variant {
    const char *name, *versus;
    const char *mesh, *layout; /* of processors that share the cores */
    bool        bf16;
    double      target; /* 0: what bf16 is to do on this chip */
} variant;

/* clang-format off */
static const variant variants[] = {
    {"Transformer, batch cut in 2",        "processors : one", "p:2", "batch:p",      false, 0.95},
    {"Transformer, heads and ff cut in 2", "processors : one", "p:2", "heads:p,ff:p", false, 0.88},
    {"Transformer in bf16",                "bf16 : f32",       NULL,  NULL,           true,  0},
};
/* clang-format on */

/* The program lives as long as its session. */
static mtf_program *compile_variant(mtf_session *s, bool bf16)
{
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *loss = language_model(g, &(language_model_opts){6, 8, bf16});
    mtf_program *p = mtf_compile(g, loss);
    network_feed(p, mtf_find(g, "tokens"));
    network_feed(p, mtf_find(g, "targets"));
    return p;
}

static void measure_variant(bench *b, const variant *v)
{
    mtf_session *sessions[] = {
        mtf_open_with(&(mtf_session_opts){.mesh = v->mesh, .layout = v->layout}),
        mtf_open_with(NULL)};
    racer  racers[] = {{run_step, compile_variant(sessions[0], v->bf16), 0, NULL},
                       {run_step, compile_variant(sessions[1], false), 0, NULL}};
    figure f = {
        .group = "training", .aim = AT_LEAST, .target = v->bf16 ? bf16_target() : v->target};
    bench_progress(b, "%s", v->name);
    bench_race(2, racers, 5);
    snprintf(f.name, sizeof f.name, "%s", v->name);
    snprintf(f.versus, sizeof f.versus, "%s", v->versus);
    f.seconds = racers[0].best, f.other = racers[1].best;
    bench_figure(b, &f);
    for (int i = 0; i < 2; i++) {
        if (!mtf_ok(sessions[i])) bench_error(b, "%s: %s", v->name, mtf_error(sessions[i]));
        mtf_close(sessions[i]);
    }
}

void training_measure(bench *b)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (bench_wants(b, networks[i].name)) measure(b, &networks[i]);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (bench_wants(b, variants[i].name)) measure_variant(b, &variants[i]);
}
