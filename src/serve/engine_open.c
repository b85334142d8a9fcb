/* Opens and closes the engine. */
#include <stdio.h>

#include "serve/engine_ranks.h"

const opened_model *engine_model(const engine *e)
{
    return e->model;
}

const engine_opts *engine_limits(const engine *e)
{
    return &e->opts;
}

static bool make_rows(engine *e)
{
    arena *r = &e->model->session->arena;
    e->active = arena_array(r, sequence *, e->opts.batch);
    e->streams = arena_array(r, mtf_text_stream *, e->opts.batch);
    TRY(e->active && e->streams);
    for (int64_t k = 0; k < e->opts.batch; k++) {
        e->streams[k] = mtf_text_stream_new(e->model->vocabulary);
        TRY(e->streams[k] != NULL);
    }
    return true;
}

engine *engine_open(const opened_model *m, const engine_opts *o)
{
    engine            *e = arena_new(&m->session->arena, engine);
    pthread_condattr_t clock;
    if (!e) return NULL;
    *e = (engine){.model = m, .opts = o ? *o : (engine_opts){0}};
    if (!e->opts.batch) e->opts.batch = 8;
    if (!e->opts.beams) e->opts.beams = 1;
    if (!e->opts.max_results) e->opts.max_results = 16;
    if (!e->opts.max_waiting) e->opts.max_waiting = 256;
    if (!e->opts.max_tokens) e->opts.max_tokens = model_max_length(m);
    e->stop[0] = mtf_vocabulary_end(m->vocabulary);
    e->stop[1] = -1;
    e->decoder = mtf_decoder_new(m->model, &(mtf_decoder_opts){.batch = e->opts.batch,
                                                               .beams = e->opts.beams,
                                                               .max_length = model_max_length(m),
                                                               .max_inputs = model_max_inputs(m)});
    e->scorer = scorer_new(m, e->opts.batch);
    if (!e->decoder || !e->scorer || !make_rows(e) || (o && o->led && !lead_open(e))) return NULL;
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&e->work, &clock);
    pthread_cond_init(&e->scored, &clock);
    pthread_condattr_destroy(&clock);
    return e;
}

void engine_refuse(engine *e, const char *why)
{
    pthread_mutex_lock(&e->lock);
    if (!e->refuses[0]) snprintf(e->refuses, sizeof e->refuses, "%s", why);
    pthread_mutex_unlock(&e->lock);
}

void engine_close(engine *e)
{
    engine_end(e, "no more is answered");
    for (request *x = e->all, *next; x; x = next) {
        next = x->next;
        request_destroy(x);
    }
    e->all = e->last = NULL;
    pthread_cond_destroy(&e->work);
    pthread_cond_destroy(&e->scored);
    pthread_mutex_destroy(&e->lock);
}
