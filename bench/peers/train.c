/* mtf_train: a contestant of the benchmark, as those in Python.
 *
 *     mtf_train --network digits|convolutions|language_model|language_model_bf16 --batch N
 *               [--threads N] [--mesh .. --layout ..]
 *     [mpirun ..] mtf_train .. --machine FILE --steps N     prints best and predicted seconds of a step
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "language_model.h"
#include "networks.h"
#include "price/estimate.h"
#include "price/rates.h"
#include "serve.h"

enum { LAYERS = 6 };

static void step(void *what)
{
    mtf_step(what);
}

static mtf_tensor *build(mtf_graph *g, const char *network, int64_t batch)
{
    if (strcmp(network, "digits") == 0) return network_digits(g, batch, 0.001f);
    if (strcmp(network, "convolutions") == 0) return network_convolutions(g, batch);
    bool bf16 = strcmp(network, "language_model_bf16") == 0;
    return language_model(g, &(language_model_opts){LAYERS, batch, bf16});
}

/* Seconds of a step on the machine that --machine describes. */
static double predict(mtf_graph *g, mtf_tensor *loss)
{
    mtf_session  *s = g->session;
    mesh          m = {0};
    layout        rules = {0};
    estimate_opts how = {.processor = -1, .rates = PRICE_RATES, .mesh = &m, .layout = &rules};
    bool          ok = mesh_parse(s, s->opts.mesh ? s->opts.mesh : "", &m) &&
              layout_parse(s, s->opts.layout ? s->opts.layout : "", &m, &rules) &&
              (!s->opts.machine || rates_choose(s, s->opts.machine, &how.rates));
    estimate *e = ok ? estimate_graph(g, 1, &loss, &how) : NULL;
    double    seconds = e ? e->price.seconds : 0;
    estimate_free(e);
    return seconds;
}

/* The first step, untimed, touches all memory. */
static void take_steps(mtf_session *s, mtf_program *p, int steps, double predicted)
{
    double best = INFINITY;
    for (int k = 0; k <= steps && mtf_ok(s); k++) {
        double begin = clock_seconds();
        mtf_step(p);
        if (k) best = fmin(best, clock_seconds() - begin);
    }
    if (mtf_ok(s) && mtf_is_first(s)) printf("%.9f %.9f\n", best, predicted);
}

int main(int argc, char **argv)
{
    mtf_session *s = mtf_open(argc, argv);
    mtf_graph   *g = mtf_graph_new(s);
    const char  *network = mtf_option(s, "network", "digits");
    mtf_tensor  *loss = build(g, network, atoll(mtf_option(s, "batch", "100")));
    mtf_program *p = mtf_compile(g, loss);
    bool         language = strncmp(network, "language_model", strlen("language_model")) == 0;
    network_feed(p, mtf_find(g, language ? "tokens" : "images"));
    network_feed(p, mtf_find(g, language ? "targets" : "labels"));
    int steps = atoi(mtf_option(s, "steps", "0"));
    if (steps > 0)
        take_steps(s, p, steps, predict(g, loss));
    else
        serve_steps(s, step, p);
    return mtf_close(s);
}
