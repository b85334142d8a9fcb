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
static bool try_together(engine *e, int64_t n, const mtf_sampling *how)
{
    request **all = calloc((size_t)n, sizeof *all);
    bool      ok = all != NULL;
    refusal   why = {.text = "there is no memory"};
    for (int64_t k = 0; ok && k < n; k++) {
        request_spec q = {.text = "", .how = *how};
        q.how.max_tokens = 1;
        ok = (all[k] = engine_submit(e, &q, &why)) != NULL;
    }
    if (!ok) fail(&engine_model(e)->session->fault, ERR_VALUE, "%s", why.text);
    while (ok && !engine_idle(e)) ok = engine_step(e, 0);
    for (int64_t k = 0; all && k < n && all[k]; k++) request_free(all[k]);
    free(all);
    return ok && engine_step(e, 0);
}

/* Each way of choosing a token has programs of its own. */
static bool try_each_way(engine *e, int64_t n)
{
    static const mtf_sampling ways[] = {
        {0}, {.temperature = 1}, {.temperature = 1, .top_p = 0.5}, {.alternatives = 1}};
    int count = engine_limits(e)->beams > 1 ? 1 : (int)(sizeof ways / sizeof *ways);
    for (int k = 0; k < count; k++) TRY(try_together(e, n, &ways[k]));
    return true;
}

/* Compiles the programs for decoding, of every number of rows, so that no request need wait for it. */
static bool warm_up(engine *e)
{
    const engine_opts *o = engine_limits(e);
    int64_t            most = o->batch < o->max_waiting ? o->batch : o->max_waiting;
    for (int64_t n = 1; n <= most; n += n < 3 ? 1 : n / 3) /* as close as the sizes of programs */
        TRY(try_each_way(e, n));
    return try_each_way(e, most);
}

/* Waits a while for current answers to complete, and then ends them. */
static bool wind_down(engine *e, http_server *h)
{
    double until = clock_seconds() + grace;
    bool   ok = true;
    http_quiet(h);
    engine_refuse(e, shutting_down);
    while (ok && http_busy(h) && clock_seconds() < until) ok = engine_step(e, 0.02);
    engine_end(e, shutting_down);
    until = clock_seconds() + 1;
    while (http_busy(h) && clock_seconds() < until) usleep(10000); /* until the last text is sent */
    http_stop(h);
    return ok && engine_dismiss(e);
}

/* mpirun and srun send signals to all ranks: the first rank decides. */
static bool follow(engine *e)
{
    interrupt stop;
    interrupt_watch(&stop);
    bool ok = engine_follow(e);
    interrupt_leave(&stop);
    engine_close(e);
    return ok;
}

bool serve(const opened_model *m, const serve_opts *o, int *signal)
{
    interrupt stop;
    *signal = 0;
    engine_opts limits = o->limits;
    limits.led = true;
    engine *e = engine_open(m, &limits);
    TRY(e != NULL);
    if (!mtf_is_first(m->session)) return follow(e);
    http_server *h = warm_up(e) ? http_start(e, &o->http) : NULL;
    bool         ok = h != NULL;
    if (ok) {
        interrupt_watch(&stop);
        printable_print(stdout, "mtf serve: %s answers at %s\n", m->name, http_address(h));
        fflush(stdout);
        while (ok && (*signal = interrupt_came(&stop)) == 0) ok = engine_step(e, 0.1);
        ok = wind_down(e, h) && ok;
        interrupt_leave(&stop);
    }
    engine_close(e);
    return ok;
}
