/* MNIST epochs, input included, against the same loop elsewhere. */
#include <stdlib.h>

#include "bare.h"
#include "contestant.h"
#include "groups.h"

enum { MODES = 2 };

/* Another system, in the two ways that its loop can be written; the faster one counts. */
typedef struct rival {
    const char *name, *environment, *script;
    const char *modes[MODES];
} rival;

static const rival torch = {"PyTorch", "torch", "torch_epochs.py", {"eager", "compiled"}};
static const rival mesh_tf = {
    "Mesh TensorFlow", "meshtf", "mesh_tf_epochs.py", {"tf.data", "numpy"}};

typedef struct contest {
    const char  *name;
    const rival *rival;
    int          batch;
    const char  *mesh, *layout; /* "": one processor */
    double       target;
} contest;

/* clang-format off */
static const contest contests[] = {
    {"MNIST epochs, batch 100",       &torch,    100, "", "",                        1.2},
    {"MNIST epochs, batch 2048",      &torch,   2048, "", "",                        1.05},
    {"MNIST epochs, batch 100, 2x2",  &mesh_tf,  100, "a:2,b:2", "batch:a,hidden:b", 1.5},
};
/* clang-format on */

static void meet(bench *b, const char *peers, const contest *k)
{
    contestant   all[1 + MODES] = {{.process = 0}};
    const rival *r = k->rival;
    snprintf(all[0].command, sizeof all[0].command,
             "exec '%s/mtf_epochs' --batch %d --threads %d --data '" MTF_BENCH_DATA
             "/mnist'%s%s%s%s",
             b->folder, k->batch, limit_threads(), *k->mesh ? " --mesh " : "", k->mesh,
             *k->layout ? " --layout " : "", k->layout);
    for (int i = 0; i < MODES; i++)
        snprintf(all[1 + i].command, sizeof all[1 + i].command,
                 "exec '%s/%s/bin/python' '" MTF_BENCH_PEERS "/%s' %d %s %d '" MTF_BENCH_DATA
                 "/mnist' %s %s",
                 peers, r->environment, r->script, limit_threads(), r->modes[i], k->batch, k->mesh,
                 k->layout);
    bench_progress(b, "%s: %s", r->name, k->name);
    if (contestants_race(b, all, 1 + MODES)) {
        bool   second = all[2].seconds < all[1].seconds;
        figure f = {.group = "epochs", .aim = AT_LEAST, .target = k->target};
        f.seconds = all[0].seconds, f.other = all[1 + second].seconds;
        snprintf(f.name, sizeof f.name, "%s", k->name);
        snprintf(f.versus, sizeof f.versus, "mtf : %s, %s", r->name, r->modes[second]);
        bench_figure(b, &f);
    }
    for (int i = 0; i < 1 + MODES; i++) contestant_stop(&all[i]);
}

void epochs_measure(bench *b)
{
    const char *peers = getenv("MTF_PEERS");
    if (!peers) {
        fprintf(stderr, "mtf_bench: epochs are measured where MTF_PEERS names a folder with the "
                        "Python environments torch (torch) and meshtf (mesh-tensorflow)\n");
        return;
    }
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    for (size_t i = 0; i < sizeof contests / sizeof *contests; i++) {
        const contest *k = &contests[i];
        if (!bench_wants(b, k->name)) continue;
        if (contestants_python(peers, k->rival->environment))
            meet(b, peers, k);
        else
            bench_error(b, "%s/%s/bin/python is missing", peers, k->rival->environment);
    }
}
