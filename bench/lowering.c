/* Building and planning a Transformer for 1 to 4096 processors.
 *
 * Every processor builds its own program from the same graph, so the time must
 * not depend on how many there are; and it must grow with the graph, not with
 * its square.
 */
#include <limits.h>
#include <malloc.h>
#include <stdio.h>

#include "graph/node.h"
#include "groups.h"
#include "language_model.h"
#include "plan/plan.h"
#include "price/price.h"

/* A graph, a mesh, and one processor's program for it; nothing runs. */
typedef struct lowering {
    bench      *bench;
    int         layers;
    const char *mesh, *layout;
    int         nodes;       /* of the graph, once it was built */
    double      peak, bound; /* bytes of memory, once it was planned */
} lowering;

static const char rules[] = "batch:rows,heads:cols,ff:cols,vocab:cols";

enum { BATCH = 512, LARGE = 68 }; /* layers of about 300 nodes, gradients and updates included */

/* The last processor has the largest parts. */
static bool lower(mtf_session *s, lowering *l)
{
    mesh   m;
    layout cuts;
    price  p = {.mesh = &m, .layout = &cuts, .rates = PRICE_RATES};
    TRY(mesh_parse(s, l->mesh, &m) && layout_parse(s, l->layout, &m, &cuts));
    mtf_graph  *g = mtf_graph_new(s);
    mtf_tensor *loss =
        language_model(g, &(language_model_opts){.layers = l->layers, .batch = BATCH});
    TRY(loss != NULL);
    p.here = mesh_place(&m, mesh_size(&m) - 1);
    program *q = plan_program(g, 1, &loss, &(plan_opts){.layout = &cuts, .here = p.here});
    TRY(q != NULL);
    p.program = q;
    TRY(price_program(&p, &q->arena));
    l->peak = (double)p.memory.peak, l->bound = (double)p.memory.bound;
    program_free(q);
    l->nodes = g->nnodes;
    return true;
}

static void run_lowering(void *what)
{
    lowering    *l = what;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    if (!s || !lower(s, l))
        bench_error(l->bench, "lowering for mesh \"%s\": %s", l->mesh, s ? mtf_error(s) : "");
    if (s) mtf_close(s);
}

static void add(bench *b, const char *name, const char *versus, double seconds, double other)
{
    figure f = {
        .group = "lowering", .seconds = seconds, .other = other, .aim = AT_MOST, .target = 1.2};
    snprintf(f.name, sizeof f.name, "%s", name);
    snprintf(f.versus, sizeof f.versus, "%s", versus);
    bench_figure(b, &f);
}

static void measure_meshes(bench *b)
{
    lowering alone = {b, 6, "", "", 0, 0, 0}, one = {b, 6, "rows:1,cols:1", rules, 0, 0, 0},
             some = {b, 6, "rows:8,cols:8", rules, 0, 0, 0},
             many = {b, 6, "rows:512,cols:8", rules, 0, 0, 0};
    racer racers[] = {{run_lowering, &alone, 0, NULL},
                      {run_lowering, &one, 0, NULL},
                      {run_lowering, &some, 0, NULL},
                      {run_lowering, &many, 0, NULL}};
    bench_progress(b, "lowering for 1, 64 and 4096 processors");
    bench_race_single(4, racers, 4);
    add(b, "memory on 1 processor", "peak : most alive at once", alone.peak, alone.bound);
    b->figures[b->count - 1].bytes = true;
    add(b, "mesh of 1 processor", "with a layout : without", racers[1].best, racers[0].best);
    add(b, "mesh of 64 processors", "64 : 1 processor", racers[2].best, racers[1].best);
    add(b, "mesh of 4096 processors", "4096 : 1 processor", racers[3].best, racers[1].best);
}

/* As long as it may take on one core: the language model as it is trained, and many times deeper. */
static void measure_limits(bench *b)
{
    static const struct {
        int    layers;
        double seconds;
    } limits[] = {{6, 25e-3}, {LARGE, 0.5}};
    bench_progress(b, "lowering of large graphs");
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        lowering l = {b, limits[k].layers, "", "", 0, 0, 0};
        racer    r = {run_lowering, &l, 0, NULL};
        char     name[64], versus[48];
        bench_race_single(1, &r, 1);
        snprintf(name, sizeof name, "graph of %d nodes", l.nodes);
        snprintf(versus, sizeof versus, "built and planned : limit");
        add(b, name, versus, r.best, limits[k].seconds);
        b->figures[b->count - 1].target = 1;
    }
}

/* The time for each node, on 64 processors. */
static void measure_depths(bench *b)
{
    enum { DEPTHS = 4 };
    lowering depths[DEPTHS];
    racer    racers[DEPTHS];
    for (int k = 0; k < DEPTHS; k++) {
        depths[k] = (lowering){b, 6 << k, "rows:8,cols:8", rules, 0, 0, 0};
        racers[k] = (racer){run_lowering, &depths[k], 0, NULL};
    }
    bench_progress(b, "lowering of 6, 12, 24 and 48 layers");
    bench_race_single(DEPTHS, racers, 6);
    for (int k = 1; k < DEPTHS; k++) {
        char name[64], versus[48];
        snprintf(name, sizeof name, "a node of %d layers", depths[k].layers);
        snprintf(versus, sizeof versus, "%d : 6 layers", depths[k].layers);
        add(b, name, versus, racers[k].best / depths[k].nodes, racers[0].best / depths[0].nodes);
    }
}

/* Memory stays with the process once it has some: else a small graph would get it back at once
 * and a large one anew from the kernel each time, page by page. */
static void keep_memory(void)
{
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
}

void lowering_measure(bench *b)
{
    keep_memory();
    measure_meshes(b);
    measure_depths(b);
    measure_limits(b);
}
