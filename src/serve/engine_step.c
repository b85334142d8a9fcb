/* One iteration of the engine: starts, decodes and scores. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "serve/engine_ranks.h"

/* ---- output ---- */

static void say(sequence *s, const request_piece *piece)
{
    pthread_mutex_lock(s->owner->lock);
    request_say(s->owner, piece);
    pthread_mutex_unlock(s->owner->lock);
}

static void say_token(sequence *s, int result, stop_text *stop, int32_t id, double log_probability)
{
    const char *own = mtf_text_stream_add(s->stream, id),
               *text = own ? stop_text_add(stop, own) : NULL;
    say(s, &(request_piece){.result = result,
                            .text = text ? text : "",
                            .own = own,
                            .tokens = 1,
                            .id = id,
                            .log_probability = log_probability,
                            .nalternatives = s->job.nalternatives,
                            .alternatives = s->job.alternatives});
}

/* Outputs the text that was held back, and ends the result. */
static void say_end(sequence *s, int result, stop_text *stop, finish_reason end)
{
    const char   *text = s->stream ? mtf_text_stream_end(s->stream) : "";
    request_piece piece = {.result = result, .id = -1};
    text = text ? stop_text_add(stop, text) : "";
    if (text && *text) {
        piece.text = text;
        say(s, &piece);
    }
    piece.end = stop->found ? FINISH_STOP : end;
    piece.text = stop_text_end(stop);
    say(s, &piece);
}

/* Receives a new token during a step; a stop string ends the sequence after the step, on all ranks. */
static bool on_token(void *context, int32_t id, double log_probability)
{
    sequence *s = context;
    say_token(s, s->number, &s->stop, id, log_probability);
    return true;
}

/* ---- rows of the decoder ---- */

/* Every prompt has a first result, if only "". */
static finish_reason end_of(const engine *e, const mtf_decode_job *job, int result)
{
    if (result > 0 && result >= job->nresults) return FINISH_ABSENT;
    int64_t n = result < job->nresults ? job->lengths[result] : 0;
    bool    stopped = n > 0 && e->stop[0] >= 0 && job->ids[result][n - 1] == e->stop[0];
    return stopped ? FINISH_STOP : FINISH_LENGTH;
}

/* Outputs the results of a beam search, which are known only at its end. */
static void say_beams(engine *e, sequence *s, finish_reason end)
{
    const mtf_decode_job *job = &s->job;
    for (int r = 0; r < s->owner->results; r++) {
        stop_text stop = {.stops = (const char *const *)s->owner->stops};
        int64_t   n = r < job->nresults ? job->lengths[r] : 0;
        for (int64_t k = 0; k < n && !stop.found; k++)
            say_token(s, r, &stop, job->ids[r][k], k == 0 ? job->scores[r] : 0);
        say_end(s, r, &stop, end ? end : end_of(e, job, r));
        stop_text_free(&stop);
    }
}

/* Outputs the rest of a sequence, and removes it from the decoder or the queue; `end` is the reason, 0
 * where it ended by itself. */
static void end_sequence(engine *e, sequence *s, finish_reason end)
{
    if (s->over) return;
    s->over = true;
    if (s->begun && !s->job.done) lead_cancel(e, s->row, &s->job);
    if (e->opts.beams > 1)
        say_beams(e, s, end);
    else
        say_end(s, s->number, &s->stop, end ? end : end_of(e, &s->job, 0));
    if (s->begun) {
        mtf_decode_free(e->decoder, &s->job);
        e->active[s->row] = NULL;
        s->row = -1;
        s->stream = NULL;
        return;
    }
    pthread_mutex_lock(&e->lock);
    e->waiting--;
    pthread_mutex_unlock(&e->lock);
}

static bool begin_sequence(engine *e, sequence *s, int64_t row)
{
    s->begun = true;
    s->row = row;
    s->stream = e->streams[row];
    e->active[row] = s;
    if (e->opts.beams == 1) {
        s->job.token = on_token;
        s->job.context = s;
    }
    pthread_mutex_lock(&e->lock);
    e->waiting--;
    pthread_mutex_unlock(&e->lock);
    return lead_start(e, row, &s->job);
}

/* ---- requests ---- */

/* The request after x, or the first; ends and frees those that their readers have given up. */
static request *next_wanted(engine *e, request *x)
{
    pthread_mutex_lock(&e->lock);
    request **at = x ? &x->next : &e->all;
    while (*at && (*at)->given_up) {
        request *gone = *at;
        pthread_mutex_unlock(&e->lock);
        for (int k = 0; k < gone->nsequences; k++)
            end_sequence(e, &gone->sequences[k], FINISH_STOP);
        pthread_mutex_lock(&e->lock);
        *at = gone->next;
        if (e->last == gone) e->last = x;
        request_destroy(gone);
    }
    request *next = *at;
    pthread_mutex_unlock(&e->lock);
    return next;
}

static int64_t free_row(const engine *e)
{
    int64_t k = 0;
    while (k < e->opts.batch && e->active[k]) k++;
    return k < e->opts.batch ? k : -1;
}

/* Ends requests that are late or given up, and starts waiting ones where the decoder has room. */
static bool look_at_requests(engine *e)
{
    double now = clock_seconds();
    for (request *x = NULL; (x = next_wanted(e, x)) != NULL;) {
        bool late = x->deadline > 0 && now > x->deadline;
        for (int k = 0; k < x->nsequences; k++) {
            sequence *s = &x->sequences[k];
            if (s->over) continue;
            if (late) end_sequence(e, s, FINISH_LATE);
            int64_t row = late || s->begun ? -1 : free_row(e);
            if (row >= 0) TRY(begin_sequence(e, s, row));
        }
    }
    return true;
}

static bool any_active(const engine *e)
{
    for (int64_t k = 0; k < e->opts.batch; k++)
        if (e->active[k]) return true;
    return false;
}

static bool decode(engine *e)
{
    if (!any_active(e)) return true;
    TRY(lead_step(e) >= 0);
    for (int64_t k = 0; k < e->opts.batch; k++)
        if (e->active[k] && (e->active[k]->job.done || e->active[k]->stop.found))
            end_sequence(e, e->active[k], FINISH_NOT_YET);
    return mtf_ok(e->model->session);
}

/* ---- scores ---- */

/* Under the lock: completes the first scoring task. */
static void end_scores(engine *e, bool failed)
{
    score_task *t = e->scores;
    e->scores = t->next;
    e->waiting -= t->n - t->done;
    t->failed = failed;
    t->over = true;
    pthread_cond_broadcast(&e->scored);
}

/* Scores one step, so that decoding continues in between. */
static bool score(engine *e)
{
    pthread_mutex_lock(&e->lock);
    score_task *t = e->scores;
    pthread_mutex_unlock(&e->lock);
    if (!t) return true;
    int count = t->done < t->n ? lead_score(e, t->n - t->done, t->items + t->done) : 0;
    TRY(mtf_ok(e->model->session));
    pthread_mutex_lock(&e->lock);
    t->done += count;
    e->waiting -= count;
    if (t->done == t->n) end_scores(e, false);
    pthread_mutex_unlock(&e->lock);
    return true;
}

/* ---- iterations ---- */

/* Under the lock: whether there is something to do. */
static bool has_work(const engine *e)
{
    if (e->scores || e->waiting > 0 || any_active(e)) return true;
    for (const request *x = e->all; x; x = x->next)
        if (x->given_up) return true;
    return false;
}

bool engine_idle(engine *e)
{
    pthread_mutex_lock(&e->lock);
    bool idle = !has_work(e);
    pthread_mutex_unlock(&e->lock);
    return idle;
}

bool engine_step(engine *e, double seconds)
{
    struct timespec until = clock_after(seconds);
    pthread_mutex_lock(&e->lock);
    for (int late = 0; seconds > 0 && !has_work(e) && !late;)
        late = pthread_cond_timedwait(&e->work, &e->lock, &until);
    pthread_mutex_unlock(&e->lock);
    if (lead_on(e) && look_at_requests(e) && decode(e) && score(e)) return true;
    engine_end(e, mtf_error(e->model->session));
    return false;
}

void engine_end(engine *e, const char *why)
{
    engine_refuse(e, why);
    for (int64_t k = 0; k < e->opts.batch; k++) {
        if (!e->active[k]) continue;
        if (!e->active[k]->job.done) lead_cancel(e, k, &e->active[k]->job);
        mtf_decode_free(e->decoder, &e->active[k]->job);
        e->active[k] = NULL;
    }
    pthread_mutex_lock(&e->lock);
    while (e->scores) end_scores(e, true);
    for (request *x = e->all; x; x = x->next) {
        for (int k = 0; k < x->nsequences; k++) x->sequences[k].over = true;
        while (x->open > 0)
            request_say(x, &(request_piece){.text = why, .id = -1, .end = FINISH_FAILED});
    }
    e->waiting = 0;
    pthread_mutex_unlock(&e->lock);
}

bool engine_follow(engine *e)
{
    return lead_follow(e);
}

bool engine_dismiss(engine *e)
{
    return lead_end(e);
}
