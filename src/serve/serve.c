/* mtf serve: a model that answers requests over HTTP. */
#include "serve/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/printable.h"
#include "model/interrupt.h"

static const char   shutting_down[] = "the server is shutting down";
static const double grace = 3; /* seconds for answers to complete at shutdown */

/* Decodes one token of n sequences together. */
static bool try_together(answers *engine, int64_t n, const mtf_sampling *how)
{
    answer **all = calloc((size_t)n, sizeof *all);
    bool     ok = all != NULL;
    refusal  why = {.text = "there is no memory"};
    for (int64_t k = 0; ok && k < n; k++) {
        question q = {.text = "", .how = *how};
        q.how.max_tokens = 1;
        ok = (all[k] = answers_ask(engine, &q, &why)) != NULL;
    }
    if (!ok) fail(&answers_model(engine)->session->fault, ERR_VALUE, "%s", why.text);
    while (ok && !answers_idle(engine)) ok = answers_turn(engine, 0);
    for (int64_t k = 0; all && k < n && all[k]; k++) answer_free(all[k]);
    free(all);
    return ok && answers_turn(engine, 0);
}

/* Each way of choosing a token has programs of its own. */
static bool try_each_way(answers *engine, int64_t n)
{
    static const mtf_sampling ways[] = {
        {0}, {.temperature = 1}, {.temperature = 1, .top_p = 0.5}, {.alternatives = 1}};
    int count = answers_limits(engine)->beams > 1 ? 1 : (int)(sizeof ways / sizeof *ways);
    for (int k = 0; k < count; k++) TRY(try_together(engine, n, &ways[k]));
    return true;
}

/* Compiles the programs for decoding, of every number of rows, so that no request need wait for it. */
static bool warm_up(answers *engine)
{
    const answers_opts *o = answers_limits(engine);
    int64_t             most = o->batch < o->max_waiting ? o->batch : o->max_waiting;
    for (int64_t n = 1; n <= most; n += n < 3 ? 1 : n / 3) /* as close as the sizes of programs */
        TRY(try_each_way(engine, n));
    return try_each_way(engine, most);
}

/* Waits a while for current answers to complete, and then ends them. */
static bool wind_down(answers *engine, http_server *h)
{
    double until = clock_seconds() + grace;
    bool   ok = true;
    http_quiet(h);
    answers_refuse(engine, shutting_down);
    while (ok && http_busy(h) && clock_seconds() < until) ok = answers_turn(engine, 0.02);
    answers_end(engine, shutting_down);
    until = clock_seconds() + 1;
    while (http_busy(h) && clock_seconds() < until) usleep(10000); /* until the last text is sent */
    http_stop(h);
    return ok && answers_dismiss(engine);
}

/* mpirun and srun send signals to all ranks: the first rank decides. */
static bool follow(answers *engine)
{
    interrupt stop;
    interrupt_watch(&stop);
    bool ok = answers_follow(engine);
    interrupt_leave(&stop);
    answers_close(engine);
    return ok;
}

bool serve(const opened_model *m, const serve_opts *o, int *signal)
{
    interrupt stop;
    *signal = 0;
    answers_opts limits = o->limits;
    limits.led = true;
    answers *engine = answers_open(m, &limits);
    TRY(engine != NULL);
    if (!mtf_is_first(m->session)) return follow(engine);
    http_server *h = warm_up(engine) ? http_start(engine, &o->http) : NULL;
    bool         ok = h != NULL;
    if (ok) {
        interrupt_watch(&stop);
        printable_print(stdout, "mtf serve: %s answers at %s\n", m->name, http_address(h));
        fflush(stdout);
        while (ok && (*signal = interrupt_came(&stop)) == 0) ok = answers_turn(engine, 0.1);
        ok = wind_down(engine, h) && ok;
        interrupt_leave(&stop);
    }
    answers_close(engine);
    return ok;
}
