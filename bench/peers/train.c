/* mtf_train: a contestant of the benchmark, as those in Python.
 *
 *     mtf_train --network digits|convolutions|language_model --batch N [--threads N] [--mesh .. --layout ..]
 */
#include <stdlib.h>
#include <string.h>

#include "language_model.h"
#include "networks.h"
#include "serve.h"

enum { LAYERS = 6 };

static void step(void *program)
{
    mtf_step(program);
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
    serve(s, step, p);
    return mtf_close(s);
}
