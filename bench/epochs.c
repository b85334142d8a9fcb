/* MNIST epochs, input included, against the same loop in PyTorch. */
#include <stdlib.h>

#include "bare.h"
#include "contestant.h"
#include "groups.h"

enum { MOST = 3 };

typedef struct contest {
    const char *name;
    int         batch;
    double      target;
} contest;

static const contest contests[] = {
    {"MNIST epochs, batch 100", 100, 1.2},
    {"MNIST epochs, batch 2048", 2048, 1.05},
};

static void meet(bench *b, const char *peers, const contest *k)
{
    contestant all[MOST] = {{.process = 0}};
    snprintf(all[0].command, sizeof all[0].command,
             "exec '%s/mtf_epochs' --batch %d --threads %d --data '" MTF_BENCH_DATA "/mnist'",
             b->folder, k->batch, limit_threads());
    for (int i = 1; i < MOST; i++)
        snprintf(all[i].command, sizeof all[i].command,
                 "exec '%s/torch/bin/python' '" MTF_BENCH_PEERS
                 "/torch_epochs.py' %d %s %d '" MTF_BENCH_DATA "/mnist'",
                 peers, limit_threads(), i == 1 ? "eager" : "compiled", k->batch);
    bench_progress(b, "PyTorch: %s", k->name);
    if (contestants_race(b, all, MOST)) {
        bool   compiled = all[2].seconds < all[1].seconds;
        figure f = {.group = "epochs", .aim = AT_LEAST, .target = k->target};
        f.seconds = all[0].seconds, f.other = all[1 + compiled].seconds;
        snprintf(f.name, sizeof f.name, "%s", k->name);
        snprintf(f.versus, sizeof f.versus, "mtf : PyTorch, %s", compiled ? "compiled" : "eager");
        bench_figure(b, &f);
    }
    for (int i = 0; i < MOST; i++) contestant_stop(&all[i]);
}

void epochs_measure(bench *b)
{
    const char *peers = getenv("MTF_PEERS");
    if (!peers) {
        fprintf(stderr, "mtf_bench: epochs are measured where MTF_PEERS names a folder with the "
                        "Python environment torch\n");
        return;
    }
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    if (!contestants_python(peers, "torch")) {
        bench_error(b, "%s/torch/bin/python is missing", peers);
        return;
    }
    for (size_t i = 0; i < sizeof contests / sizeof *contests; i++) meet(b, peers, &contests[i]);
}
