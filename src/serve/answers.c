/* The engine: decodes many requests together, and streams their text. */
#include "serve/answers.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "serve/orders.h"

const opened_model *answers_model(const answers *a)
{
    return a->model;
}

const answers_opts *answers_limits(const answers *a)
{
    return &a->opts;
}

/* ---- opening and closing ---- */

static bool make_places(answers *a)
{
    arena *r = &a->model->session->arena;
    a->active = arena_array(r, sequence *, a->opts.batch);
    a->streams = arena_array(r, mtf_text_stream *, a->opts.batch);
    TRY(a->active && a->streams);
    for (int64_t k = 0; k < a->opts.batch; k++) {
        a->streams[k] = mtf_text_stream_new(a->model->vocabulary);
        TRY(a->streams[k] != NULL);
    }
    return true;
}

answers *answers_open(const opened_model *m, const answers_opts *o)
{
    answers           *a = arena_new(&m->session->arena, answers);
    pthread_condattr_t clock;
    if (!a) return NULL;
    *a = (answers){.model = m, .opts = o ? *o : (answers_opts){0}};
    if (!a->opts.batch) a->opts.batch = 8;
    if (!a->opts.beams) a->opts.beams = 1;
    if (!a->opts.max_results) a->opts.max_results = 16;
    if (!a->opts.max_waiting) a->opts.max_waiting = 256;
    if (!a->opts.max_tokens) a->opts.max_tokens = model_max_length(m);
    a->stop[0] = mtf_vocabulary_end(m->vocabulary);
    a->stop[1] = -1;
    a->decoder = mtf_decoder_new(m->model, &(mtf_decoder_opts){.batch = a->opts.batch,
                                                               .beams = a->opts.beams,
                                                               .max_length = model_max_length(m),
                                                               .max_inputs = model_max_inputs(m)});
    a->scorer = scorer_new(m, a->opts.batch);
    if (!a->decoder || !a->scorer || !make_places(a) || (o && o->led && !orders_open(a)))
        return NULL;
    pthread_mutex_init(&a->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&a->work, &clock);
    pthread_cond_init(&a->scored, &clock);
    pthread_condattr_destroy(&clock);
    return a;
}

void answers_refuse(answers *a, const char *why)
{
    pthread_mutex_lock(&a->lock);
    if (!a->refuses[0]) snprintf(a->refuses, sizeof a->refuses, "%s", why);
    pthread_mutex_unlock(&a->lock);
}

void answers_close(answers *a)
{
    answers_end(a, "no more is answered");
    for (answer *x = a->all, *next; x; x = next) {
        next = x->next;
        answer_destroy(x);
    }
    a->all = a->last = NULL;
    pthread_cond_destroy(&a->work);
    pthread_cond_destroy(&a->scored);
    pthread_mutex_destroy(&a->lock);
}

/* ---- waiting ---- */

struct timespec after_seconds(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double whole = floor(seconds);
    t.tv_sec += (time_t)whole;
    t.tv_nsec += (long)((seconds - whole) * 1e9);
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    return t;
}

bool answer_over(answer *x)
{
    pthread_mutex_lock(&x->engine->lock);
    bool over = !x->first && x->open <= 0;
    pthread_mutex_unlock(&x->engine->lock);
    return over;
}

bool answer_next(answer *x, double seconds, answer_piece *piece)
{
    answers        *a = x->engine;
    struct timespec until = after_seconds(seconds);
    int             late = seconds > 0 ? 0 : ETIMEDOUT;
    pthread_mutex_lock(&a->lock);
    free(x->given);
    x->given = NULL;
    while (!x->first && x->open > 0 && !late)
        late = pthread_cond_timedwait(&x->news, &a->lock, &until);
    said *s = x->first;
    if (s) {
        x->first = s->next;
        if (!x->first) x->last = NULL;
        x->given = s;
        *piece = s->piece;
    }
    pthread_mutex_unlock(&a->lock);
    return s != NULL;
}

/* ---- requests ---- */

static bool refuse(refusal *why, refusal_kind kind, const char *text)
{
    why->kind = kind;
    snprintf(why->text, sizeof why->text, "%.*s", (int)sizeof why->text - 1, text);
    return false;
}

static bool check_ids(const answers *a, const id_list *prompt, refusal *why)
{
    int64_t most = model_max_prompt(a->model), vocab = a->model->model->opts.input_vocab;
    why->kind = REFUSED_WRONG;
    if (prompt->count > most) {
        snprintf(why->text, sizeof why->text, "the prompt has %lld tokens; this model takes %lld",
                 (long long)prompt->count, (long long)most);
        return false;
    }
    for (int64_t k = 0; k < prompt->count; k++) {
        if (prompt->ids[k] >= 0 && prompt->ids[k] < vocab) continue;
        snprintf(why->text, sizeof why->text,
                 "token %lld of the prompt is %d; the model's vocabulary has %lld", (long long)k,
                 prompt->ids[k], (long long)vocab);
        return false;
    }
    return true;
}

static bool check_question(const answers *a, const question *q, refusal *why)
{
    const mtf_sampling *h = &q->how;
    int64_t             results = q->results > 0 ? q->results : 1, most = a->opts.max_results;
    char                text[200];
    if (a->opts.beams > 1 && most > a->opts.beams) most = a->opts.beams;
    if (results > most) {
        snprintf(text, sizeof text, "%lld results are wanted; there can be %lld",
                 (long long)results, (long long)most);
        return refuse(why, REFUSED_WRONG, text);
    }
    if (!(h->temperature >= 0) || !isfinite(h->temperature) || h->top_k < 0 || !(h->top_p >= 0) ||
        h->top_p > 1)
        return refuse(why, REFUSED_WRONG,
                      "temperature and top_k must not be negative, and top_p is from 0 to 1");
    if (a->opts.beams > 1 && h->alternatives)
        return refuse(why, REFUSED_WRONG, "beam search has no alternatives to a token: \"logprobs\" "
                                          "must be 0");
    if (a->opts.beams > 1 && (h->temperature > 0 || h->top_k || h->top_p > 0))
        return refuse(why, REFUSED_WRONG,
                      "beam search takes the best sequences: temperature must be 0, without top_k "
                      "and top_p");
    if (h->max_tokens < 0 || h->max_tokens > a->opts.max_tokens) {
        snprintf(text, sizeof text, "%lld new tokens are wanted; there can be %lld",
                 (long long)h->max_tokens, (long long)a->opts.max_tokens);
        return refuse(why, REFUSED_WRONG, text);
    }
    return true;
}

/* Under the lock: whether n more sequences may wait. */
static bool admit(answers *a, int64_t n, refusal *why)
{
    char text[200];
    if (a->refuses[0]) return refuse(why, REFUSED_STOPPING, a->refuses);
    if (n > a->opts.max_waiting) {
        snprintf(text, sizeof text, "%lld sequences in one request; there can be %lld",
                 (long long)n, (long long)a->opts.max_waiting);
        return refuse(why, REFUSED_WRONG, text);
    }
    if (a->waiting + n > a->opts.max_waiting) {
        snprintf(text, sizeof text, "%lld sequences wait already; there is room for %lld",
                 (long long)a->waiting, (long long)a->opts.max_waiting);
        return refuse(why, REFUSED_BUSY, text);
    }
    a->waiting += n;
    pthread_cond_signal(&a->work);
    return true;
}

/* The request of a question, not yet in the engine; NULL where it is refused. */
static answer *request_of(answers *a, const question *q, id_list *prompt, refusal *why)
{
    int     n = a->opts.beams > 1 || q->results < 1 ? 1 : q->results;
    answer *x = answer_new(a, q, prompt, n);
    if (!x) {
        refuse(why, REFUSED_BUSY, "there is no memory for another request");
        return NULL;
    }
    for (int k = 0; k < n; k++) {
        mtf_sampling *h = &x->sequences[k].job.how;
        h->stop = a->stop;
        if (!h->max_tokens) h->max_tokens = a->opts.max_tokens;
    }
    if (a->opts.max_seconds > 0) x->deadline = clock_seconds() + a->opts.max_seconds;
    return x;
}

static answer *read_question(answers *a, const question *q, refusal *why)
{
    fault   own = {0};
    id_list prompt = model_ids(&own);
    answer *x = NULL;
    if (!check_question(a, q, why)) return NULL;
    bool read = !q->ids      ? model_encode_prompt(a->model, q->text, q->bytes, &prompt)
                : q->complete ? ids_add_all(&prompt, q->ids, q->nids)
                              : model_take_prompt(a->model, q->ids, q->nids, &prompt);
    if (!read)
        refuse(why, REFUSED_WRONG, own.text);
    else if (check_ids(a, &prompt, why))
        x = request_of(a, q, &prompt, why);
    ids_free(&prompt);
    return x;
}

static bool enter(answers *a, int n, answer *const *all, refusal *why)
{
    int64_t sequences = 0;
    for (int k = 0; k < n; k++) sequences += all[k]->nsequences;
    pthread_mutex_lock(&a->lock);
    bool admitted = admit(a, sequences, why);
    for (int k = 0; admitted && k < n; k++) {
        if (a->last)
            a->last->next = all[k];
        else
            a->all = all[k];
        a->last = all[k];
    }
    pthread_mutex_unlock(&a->lock);
    return admitted;
}

bool answers_ask_all(answers *a, int n, const question *q, answer **to, refusal *why)
{
    int  read = 0;
    bool ok = true;
    while (ok && read < n) {
        to[read] = read_question(a, &q[read], why);
        ok = to[read] != NULL;
        read += ok;
    }
    if (ok && enter(a, n, to, why)) return true;
    for (int k = 0; k < n; k++) {
        if (k < read) answer_destroy(to[k]);
        to[k] = NULL;
    }
    return false;
}

answer *answers_ask(answers *a, const question *q, refusal *why)
{
    answer *x;
    return answers_ask_all(a, 1, q, &x, why) ? x : NULL;
}

bool answers_score(answers *a, int n, score_item *items, refusal *why)
{
    score_task task = {.n = n, .items = items};
    pthread_mutex_lock(&a->lock);
    bool ok = admit(a, n, why);
    if (ok) {
        score_task **at = &a->scores;
        while (*at) at = &(*at)->next;
        *at = &task;
        while (!task.over) pthread_cond_wait(&a->scored, &a->lock);
        if (task.failed) ok = refuse(why, REFUSED_STOPPING, a->refuses);
    }
    pthread_mutex_unlock(&a->lock);
    return ok;
}

/* The engine's thread frees it, because only that one knows what is still being decoded. */
void answer_free(answer *x)
{
    answers *a = x->engine;
    pthread_mutex_lock(&a->lock);
    x->given_up = true;
    pthread_cond_signal(&a->work);
    pthread_mutex_unlock(&a->lock);
}
