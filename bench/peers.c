/* The same training by PyTorch and Mesh TensorFlow.
 *
 * Each is a process that takes steps when asked, so that they race alternately
 * with equally many threads.  MTF_PEERS names a folder with two Python
 * environments, torch and meshtf; the scripts lie in peers/.
 */
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "contestant.h"
#include "groups.h"

#if defined(__x86_64__)
static const double against_torch = 1.0; /* whose library for products is better there */
#else
static const double against_torch = 1.1;
#endif

enum { MOST = 3 };

/* One training, by mtf and by another system. */
typedef struct contest {
    const char *name, *network;
    int         batch;
    const char *mesh, *layout, *other_layout; /* as either calls its dimensions */
    double      target;                       /* 0: against_torch */
} contest;

/* clang-format off */
static const contest torch_contests[] = {
    {"README's network, batch 100",      "digits",          100, "", "", "", 0},
    {"README's network, batch 2048",     "digits",         2048, "", "", "", 0},
    {"Transformer of 6 layers, batch 8", "language_model",    8, "", "", "", 0},
    {"the same in bf16",                 "language_model_bf16", 8, "", "", "", 1.0},
    {"3 convolutions, batch 32",         "convolutions",     32, "", "", "", 1.0},
};
static const contest mesh_contests[] = {
    {"README's network, batch 100",       "digits",          100, "", "", "", 1.15},
    {"README's network, batch 100, 2x2",  "digits",          100, "a:2,b:2", "batch:a,hidden:b",
                                                                  "batch:a,hidden:b",         1.5},
    {"README's network, batch 2048, 2x2", "digits",         2048, "a:2,b:2", "batch:a,hidden:b",
                                                                  "batch:a,hidden:b",         1.5},
    {"Transformer of 6 layers, batch 8",  "language_model",    8, "", "", "",                 1.15},
    {"the same, batch cut in 2",          "language_model",    8, "p:2", "batch:p", "batch:p", 1.15},
    {"the same, heads and ff cut in 2",   "language_model",    8, "p:2", "heads:p,ff:p",
                                                                  "heads:p,d_ff:p",           1.15},
};
/* clang-format on */

/* ---- commands ---- */

static void write_own(const bench *b, const contest *k, contestant *c)
{
    snprintf(c->command, sizeof c->command,
             "exec '%s/mtf_train' --network %s --batch %d --threads %d%s%s%s%s", b->folder,
             k->network, k->batch, limit_threads(), *k->mesh ? " --mesh " : "", k->mesh,
             *k->layout ? " --layout " : "", k->layout);
}

static void write_torch(const char *peers, const contest *k, const char *mode, contestant *c)
{
    snprintf(c->command, sizeof c->command,
             "exec '%s/torch/bin/python' '" MTF_BENCH_PEERS "/torch_%s.py' %d %s %d", peers,
             k->network, limit_threads(), mode, k->batch);
}

static void write_mesh(const char *peers, const contest *k, contestant *c)
{
    snprintf(c->command, sizeof c->command,
             "exec '%s/meshtf/bin/python' '" MTF_BENCH_PEERS "/mesh_tf_%s.py' %d %d %s %s", peers,
             k->network, limit_threads(), k->batch, k->mesh, k->other_layout);
}

/* ---- races ---- */

static void add(bench *b, const contest *k, const char *other, double seconds, double theirs,
                double target)
{
    figure f = {.group = "peers", .seconds = seconds, .other = theirs, .target = target};
    snprintf(f.name, sizeof f.name, "%s", k->name);
    snprintf(f.versus, sizeof f.versus, "mtf : %s", other);
    bench_figure(b, &f);
}

static void add_memory(bench *b, const contest *k, const char *other, double bytes, double theirs)
{
    figure f = {.group = "peers", .seconds = bytes, .other = theirs, .bytes = true};
    f.aim = AT_MOST, f.target = 0.5;
    snprintf(f.name, sizeof f.name, "%s, memory", k->name);
    snprintf(f.versus, sizeof f.versus, "mtf : %s", other);
    bench_figure(b, &f);
}

static void meet_torch(bench *b, const char *peers, const contest *k)
{
    contestant all[MOST] = {{.process = 0}};
    write_own(b, k, &all[0]);
    write_torch(peers, k, "eager", &all[1]);
    write_torch(peers, k, "compiled", &all[2]);
    bench_progress(b, "PyTorch: %s", k->name);
    if (contestants_race(b, all, 3)) {
        bool        compiled = all[2].seconds < all[1].seconds;
        const char *other = compiled ? "PyTorch, compiled" : "PyTorch, eager";
        add(b, k, other, all[0].seconds, all[1 + compiled].seconds,
            k->target > 0 ? k->target : against_torch);
        bool leaner = all[2].peak_bytes < all[1].peak_bytes;
        if (strcmp(k->network, "language_model") == 0)
            add_memory(b, k, leaner ? "PyTorch, compiled" : "PyTorch, eager", all[0].peak_bytes,
                       all[1 + leaner].peak_bytes);
    }
    for (int i = 0; i < 3; i++) contestant_stop(&all[i]);
}

static void meet_mesh(bench *b, const char *peers, const contest *k)
{
    contestant all[MOST] = {{.process = 0}};
    write_own(b, k, &all[0]);
    write_mesh(peers, k, &all[1]);
    bench_progress(b, "Mesh TensorFlow: %s", k->name);
    if (contestants_race(b, all, 2))
        add(b, k, "Mesh TensorFlow", all[0].seconds, all[1].seconds, k->target);
    for (int i = 0; i < 2; i++) contestant_stop(&all[i]);
}

void peers_measure(bench *b)
{
    const char *peers = getenv("MTF_PEERS");
    if (!peers) {
        fprintf(stderr, "mtf_bench: peers are measured where MTF_PEERS names a folder with the "
                        "Python environments torch (torch) and meshtf (mesh-tensorflow)\n");
        return;
    }
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    if (!contestants_python(peers, "torch"))
        bench_error(b, "%s/torch/bin/python is missing", peers);
    else
        for (size_t i = 0; i < sizeof torch_contests / sizeof *torch_contests; i++)
            if (bench_wants(b, torch_contests[i].name)) meet_torch(b, peers, &torch_contests[i]);
    if (!contestants_python(peers, "meshtf"))
        bench_error(b, "%s/meshtf/bin/python is missing", peers);
    else
        for (size_t i = 0; i < sizeof mesh_contests / sizeof *mesh_contests; i++)
            if (bench_wants(b, mesh_contests[i].name)) meet_mesh(b, peers, &mesh_contests[i]);
}
