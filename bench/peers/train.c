/* mtf_train: a contestant of the benchmark, as those in Python.
 *
 *     mtf_train --network digits|convolutions|language_model --batch N [--threads N] [--mesh .. --layout ..]
 *
 * It says when it is ready, takes as many steps as each line of its input says,
 * answers with seconds for a step and the peak memory, and ends with its input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "language_model.h"
#include "networks.h"

enum { WARM_UP = 2, LAYERS = 6 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void serve(mtf_session *s, mtf_program *p)
{
    char          line[32];
    struct rusage used;
    for (int i = 0; i < WARM_UP; i++) mtf_step(p);
    if (mtf_ok(s)) puts("ready");
    fflush(stdout);
    while (mtf_ok(s) && fgets(line, sizeof line, stdin)) {
        int    count = atoi(line);
        double begin = now();
        for (int i = 0; i < count; i++) mtf_step(p);
        double seconds = (now() - begin) / count;
        getrusage(RUSAGE_SELF, &used);
        printf("{\"seconds\": %.9g, \"peak_bytes\": %ld}\n", seconds, used.ru_maxrss * 1024);
        fflush(stdout);
    }
}

static mtf_tensor *build(mtf_graph *g, const char *network, int64_t batch)
{
    if (strcmp(network, "digits") == 0) return network_digits(g, batch, 0.001f);
    if (strcmp(network, "convolutions") == 0) return network_convolutions(g, batch);
    return language_model(g, &(language_model_opts){.layers = LAYERS, .batch = batch});
}

int main(int argc, char **argv)
{
    mtf_session *s = mtf_open(argc, argv);
    mtf_graph   *g = mtf_graph_new(s);
    const char  *network = mtf_option(s, "network", "digits");
    mtf_tensor  *loss = build(g, network, atoll(mtf_option(s, "batch", "100")));
    mtf_program *p = mtf_compile(g, loss);
    bool         language = strcmp(network, "language_model") == 0;
    network_feed(p, mtf_find(g, language ? "tokens" : "images"));
    network_feed(p, mtf_find(g, language ? "targets" : "labels"));
    serve(s, p);
    return mtf_close(s);
}
