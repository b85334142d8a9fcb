/* Finding layouts of large models: a second on one core, optimal or nearly so. */
#include <stdio.h>

#include "groups.h"
#include "large_models.h"
#include "search/automatic.h"

typedef mtf_tensor *model_maker(mtf_graph *g, int layers);

typedef struct task {
    bench       *bench;
    const char  *name, *mesh;
    model_maker *make;
    int          layers;
    mtf_session *session;
    mtf_graph   *graph;
    mtf_tensor  *loss;
    double       gap;
    int          priced;
} task;

/* The machine of docs/layout.md: its file may not be installed where this runs. */
static const char machine[] = "flops 67e12\nproduct f32 0 20e12\nproduct f32 512 400e12\n"
                              "memory 3.35e12\nwire 450e9\nlatency 10e-6\nstart 3e-6\n";

static void run_search(void *what)
{
    task            *t = what;
    automatic_opts   o = {.mesh = t->mesh, .layout = "auto"};
    automatic_answer answer;
    if (!rates_read(t->session, machine, "machine", &o.rates) ||
        !automatic_find(t->graph, 1, &t->loss, &o, &answer)) {
        bench_error(t->bench, "layout of %s: %s", t->name, mtf_error(t->session));
        return;
    }
    t->gap = answer.search.gap;
    t->priced = answer.search.priced;
    if (t->gap > 0.01)
        bench_error(t->bench, "layout of %s: the gap is %.3g %%", t->name, 100 * t->gap);
}

/* The graph exists already: only the search is timed. */
static void measure(bench *b, task *t)
{
    t->bench = b;
    t->session = mtf_open_with(&(mtf_session_opts){.threads = 1});
    t->graph = mtf_graph_new(t->session);
    t->loss = t->make(t->graph, t->layers);
    bench_progress(b, "layout of %s on %s", t->name, t->mesh);
    racer r = {run_search, t, 0, NULL};
    bench_race_single(1, &r, 3);
    figure f = {.group = "layout", .seconds = r.best, .other = 1, .aim = AT_MOST, .target = 1};
    snprintf(f.name, sizeof f.name, "%s on %s", t->name, t->mesh);
    snprintf(f.versus, sizeof f.versus, "search : 1 s; %d priced, gap %.2g %%", t->priced,
             100 * t->gap);
    bench_figure(b, &f);
    mtf_close(t->session);
}

void layout_measure(bench *b)
{
    measure(
        b, &(task){
               .name = "24+24 layers", .mesh = "x:16,y:32", .make = encoder_decoder, .layers = 24});
    static const char *const meshes[] = {"x:8,y:8,z:8", "x:2,y:4,z:8", "x:4,y:8,z:16"};
    for (int k = 0; k < 3; k++)
        measure(b, &(task){.name = "48 layers with experts",
                           .mesh = meshes[k],
                           .make = mixture_stack,
                           .layers = 48});
}
