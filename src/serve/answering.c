/* One iteration of the engine: starts, decodes and scores. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "serve/orders.h"

/* ---- output ---- */

static void say(sequence *s, const answer_piece *piece)
{
    answers *a = s->owner->engine;
    pthread_mutex_lock(&a->lock);
    answer_say(s->owner, piece);
    pthread_mutex_unlock(&a->lock);
}

static void say_token(sequence *s, int result, stop_text *stop, int32_t id, double log_probability)
{
    const char *text = mtf_text_stream_add(s->owner->engine->streams[s->place], id);
    if (text) text = stop_text_add(stop, text);
    say(s, &(answer_piece){.result = result,
                           .text = text ? text : "",
                           .tokens = 1,
                           .id = id,
                           .log_probability = log_probability,
                           .nalternatives = s->job.nalternatives,
                           .alternatives = s->job.alternatives});
}

/* Outputs the text that was held back, and ends the result. */
static void say_end(sequence *s, int result, stop_text *stop, answer_end end)
{
    const char *text = s->place < 0 ? "" : mtf_text_stream_end(s->owner->engine->streams[s->place]);
    answer_piece piece = {.result = result, .id = -1};
    text = text ? stop_text_add(stop, text) : "";
    if (text && *text) {
        piece.text = text;
        say(s, &piece);
    }
    piece.end = stop->found ? ANSWER_STOPPED : end;
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

/* ---- slots of the decoder ---- */

static answer_end end_of(const answers *a, const mtf_decode_job *job, int result)
{
    int64_t n = result < job->nresults ? job->lengths[result] : 0;
    bool    stopped = n > 0 && a->stop[0] >= 0 && job->ids[result][n - 1] == a->stop[0];
    return stopped ? ANSWER_STOPPED : ANSWER_LENGTH;
}

/* Outputs the results of a beam search, which are known only at its end. */
static void say_beams(answers *a, sequence *s, answer_end end)
{
    const mtf_decode_job *job = &s->job;
    for (int r = 0; r < s->owner->results; r++) {
        stop_text stop = {.stops = (const char *const *)s->owner->stops};
        int64_t   n = r < job->nresults ? job->lengths[r] : 0;
        for (int64_t k = 0; k < n && !stop.found; k++)
            say_token(s, r, &stop, job->ids[r][k], k == 0 ? job->scores[r] : 0);
        say_end(s, r, &stop, end ? end : end_of(a, job, r));
        stop_text_free(&stop);
    }
}

/* Outputs the rest of a sequence, and removes it from the decoder or the queue; `end` is the reason, 0
 * where it ended by itself. */
static void end_sequence(answers *a, sequence *s, answer_end end)
{
    if (s->over) return;
    s->over = true;
    if (s->begun && !s->job.done) order_cancel(a, s->place, &s->job);
    if (a->opts.beams > 1)
        say_beams(a, s, end);
    else
        say_end(s, s->number, &s->stop, end ? end : end_of(a, &s->job, 0));
    if (s->begun) {
        mtf_decode_free(a->decoder, &s->job);
        a->active[s->place] = NULL;
        s->place = -1;
        return;
    }
    pthread_mutex_lock(&a->lock);
    a->waiting--;
    pthread_mutex_unlock(&a->lock);
}

static bool begin_sequence(answers *a, sequence *s, int64_t place)
{
    s->begun = true;
    s->place = place;
    a->active[place] = s;
    if (a->opts.beams == 1) {
        s->job.token = on_token;
        s->job.context = s;
    }
    pthread_mutex_lock(&a->lock);
    a->waiting--;
    pthread_mutex_unlock(&a->lock);
    return order_start(a, place, &s->job);
}

/* ---- requests ---- */

/* The request after x, or the first; ends and frees those that their readers have given up. */
static answer *next_wanted(answers *a, answer *x)
{
    pthread_mutex_lock(&a->lock);
    answer **at = x ? &x->next : &a->all;
    while (*at && (*at)->given_up) {
        answer *gone = *at;
        pthread_mutex_unlock(&a->lock);
        for (int k = 0; k < gone->nsequences; k++)
            end_sequence(a, &gone->sequences[k], ANSWER_STOPPED);
        pthread_mutex_lock(&a->lock);
        *at = gone->next;
        if (a->last == gone) a->last = x;
        answer_destroy(gone);
    }
    answer *next = *at;
    pthread_mutex_unlock(&a->lock);
    return next;
}

static int64_t free_place(const answers *a)
{
    int64_t k = 0;
    while (k < a->opts.batch && a->active[k]) k++;
    return k < a->opts.batch ? k : -1;
}

/* Ends requests that are late or given up, and starts waiting ones where the decoder has room. */
static bool look_at_requests(answers *a)
{
    double now = clock_seconds();
    for (answer *x = NULL; (x = next_wanted(a, x)) != NULL;) {
        bool late = x->deadline > 0 && now > x->deadline;
        for (int k = 0; k < x->nsequences; k++) {
            sequence *s = &x->sequences[k];
            if (s->over) continue;
            if (late) end_sequence(a, s, ANSWER_LATE);
            int64_t place = late || s->begun ? -1 : free_place(a);
            if (place >= 0) TRY(begin_sequence(a, s, place));
        }
    }
    return true;
}

static bool any_active(const answers *a)
{
    for (int64_t k = 0; k < a->opts.batch; k++)
        if (a->active[k]) return true;
    return false;
}

static bool decode(answers *a)
{
    if (!any_active(a)) return true;
    TRY(order_step(a) >= 0);
    for (int64_t k = 0; k < a->opts.batch; k++)
        if (a->active[k] && (a->active[k]->job.done || a->active[k]->stop.found))
            end_sequence(a, a->active[k], ANSWER_GOES_ON);
    return mtf_ok(a->model->session);
}

/* ---- scores ---- */

/* Under the lock: completes the first scoring task. */
static void end_scores(answers *a, bool failed)
{
    score_task *t = a->scores;
    a->scores = t->next;
    a->waiting -= t->n - t->done;
    t->failed = failed;
    t->over = true;
    pthread_cond_broadcast(&a->scored);
}

/* Scores one step, so that decoding continues in between. */
static bool score(answers *a)
{
    pthread_mutex_lock(&a->lock);
    score_task *t = a->scores;
    pthread_mutex_unlock(&a->lock);
    if (!t) return true;
    int count = t->done < t->n ? order_score(a, t->n - t->done, t->items + t->done) : 0;
    TRY(mtf_ok(a->model->session));
    pthread_mutex_lock(&a->lock);
    t->done += count;
    a->waiting -= count;
    if (t->done == t->n) end_scores(a, false);
    pthread_mutex_unlock(&a->lock);
    return true;
}

/* ---- iterations ---- */

/* Under the lock: whether there is something to do. */
static bool has_work(const answers *a)
{
    if (a->scores || a->waiting > 0 || any_active(a)) return true;
    for (const answer *x = a->all; x; x = x->next)
        if (x->given_up) return true;
    return false;
}

bool answers_idle(answers *a)
{
    pthread_mutex_lock(&a->lock);
    bool idle = !has_work(a);
    pthread_mutex_unlock(&a->lock);
    return idle;
}

bool answers_turn(answers *a, double seconds)
{
    struct timespec until = after_seconds(seconds);
    pthread_mutex_lock(&a->lock);
    for (int late = 0; seconds > 0 && !has_work(a) && !late;)
        late = pthread_cond_timedwait(&a->work, &a->lock, &until);
    pthread_mutex_unlock(&a->lock);
    if (order_nothing(a) && look_at_requests(a) && decode(a) && score(a)) return true;
    answers_end(a, mtf_error(a->model->session));
    return false;
}

void answers_end(answers *a, const char *why)
{
    answers_refuse(a, why);
    for (int64_t k = 0; k < a->opts.batch; k++) {
        if (!a->active[k]) continue;
        if (!a->active[k]->job.done) order_cancel(a, k, &a->active[k]->job);
        mtf_decode_free(a->decoder, &a->active[k]->job);
        a->active[k] = NULL;
    }
    pthread_mutex_lock(&a->lock);
    while (a->scores) end_scores(a, true);
    for (answer *x = a->all; x; x = x->next) {
        for (int k = 0; k < x->nsequences; k++) x->sequences[k].over = true;
        while (x->open > 0)
            answer_say(x, &(answer_piece){.text = why, .id = -1, .end = ANSWER_FAILED});
    }
    a->waiting = 0;
    pthread_mutex_unlock(&a->lock);
}

bool answers_follow(answers *a)
{
    return orders_follow(a);
}

bool answers_dismiss(answers *a)
{
    return order_end(a);
}
