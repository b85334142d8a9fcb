/* mtf serve: a model that answers requests over HTTP. */
#include "serve/serve.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/interrupt.h"

static const char   shutting_down[] = "the server is shutting down";
static const double grace = 3; /* seconds for answers to complete at shutdown */

/* Compiles the programs for decoding, so that the first request need not wait for it. */
static bool warm_up(answers *engine)
{
    bool beams = answers_limits(engine)->beams > 1;
    for (int drawn = 0; drawn < (beams ? 1 : 2); drawn++) {
        question q = {.text = "", .how = {.temperature = drawn, .max_tokens = 1}};
        refusal  why;
        answer  *x = answers_ask(engine, &q, &why);
        if (!x) return fail(&answers_model(engine)->session->fault, ERR_VALUE, "%s", why.text);
        bool ok = true;
        while (ok && !answers_idle(engine)) ok = answers_turn(engine, 0);
        answer_free(x);
        TRY(ok && answers_turn(engine, 0));
    }
    return true;
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
        printf("mtf serve: %s answers at %s\n", m->name, http_address(h));
        fflush(stdout);
        while (ok && (*signal = interrupt_came(&stop)) == 0) ok = answers_turn(engine, 0.1);
        ok = wind_down(engine, h) && ok;
        interrupt_leave(&stop);
    }
    answers_close(engine);
    return ok;
}
