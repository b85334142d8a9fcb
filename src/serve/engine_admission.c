/* Admits requests and texts to score, or refuses them. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "serve/engine_state.h"

static bool refuse(refusal *why, refusal_kind kind, const char *text)
{
    why->kind = kind;
    snprintf(why->text, sizeof why->text, "%.*s", (int)sizeof why->text - 1, text);
    return false;
}

static bool check_ids(const engine *e, const id_list *prompt, refusal *why)
{
    int64_t most = model_max_prompt(e->model), vocab = e->model->model->opts.input_vocab;
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

static bool check_question(const engine *e, const request_spec *q, refusal *why)
{
    const mtf_sampling *h = &q->how;
    int64_t             results = q->results > 0 ? q->results : 1, most = e->opts.max_results;
    char                text[200];
    if (e->opts.beams > 1 && most > e->opts.beams) most = e->opts.beams;
    if (results > most) {
        snprintf(text, sizeof text, "%lld results are wanted; there can be %lld",
                 (long long)results, (long long)most);
        return refuse(why, REFUSED_WRONG, text);
    }
    if (!(h->temperature >= 0) || !isfinite(h->temperature) || h->top_k < 0 || !(h->top_p >= 0) ||
        h->top_p > 1)
        return refuse(why, REFUSED_WRONG,
                      "temperature and top_k must not be negative, and top_p is from 0 to 1");
    if (e->opts.beams > 1 && h->alternatives)
        return refuse(why, REFUSED_WRONG,
                      "beam search has no alternatives to a token: \"logprobs\" "
                      "must be 0");
    if (e->opts.beams > 1 && (h->temperature > 0 || h->top_k || h->top_p > 0))
        return refuse(why, REFUSED_WRONG,
                      "beam search takes the best sequences: temperature must be 0, without top_k "
                      "and top_p");
    if (h->max_tokens < 0 || h->max_tokens > e->opts.max_tokens) {
        snprintf(text, sizeof text, "%lld new tokens are wanted; there can be %lld",
                 (long long)h->max_tokens, (long long)e->opts.max_tokens);
        return refuse(why, REFUSED_WRONG, text);
    }
    return true;
}

/* Under the lock: whether n more sequences may wait. */
static bool admit(engine *e, int64_t n, refusal *why)
{
    char text[200];
    if (e->refuses[0]) return refuse(why, REFUSED_STOPPING, e->refuses);
    if (n > e->opts.max_waiting) {
        snprintf(text, sizeof text, "%lld sequences in one request; there can be %lld",
                 (long long)n, (long long)e->opts.max_waiting);
        return refuse(why, REFUSED_WRONG, text);
    }
    if (e->waiting + n > e->opts.max_waiting) {
        snprintf(text, sizeof text, "%lld sequences wait already; there is room for %lld",
                 (long long)e->waiting, (long long)e->opts.max_waiting);
        return refuse(why, REFUSED_BUSY, text);
    }
    e->waiting += n;
    pthread_cond_signal(&e->work);
    return true;
}

/* The request of a question, not yet in the engine; NULL where it is refused. */
static request *request_of(engine *e, const request_spec *q, id_list *prompt, refusal *why)
{
    int      n = e->opts.beams > 1 || q->results < 1 ? 1 : q->results;
    request *x = request_new(q, prompt, n);
    if (!x) {
        refuse(why, REFUSED_BUSY, "there is no memory for another request");
        return NULL;
    }
    x->lock = &e->lock;
    x->work = &e->work;
    for (int k = 0; k < n; k++) {
        mtf_sampling *h = &x->sequences[k].job.how;
        h->stop = e->stop;
        if (!h->max_tokens) h->max_tokens = e->opts.max_tokens;
    }
    if (e->opts.max_seconds > 0) x->deadline = clock_seconds() + e->opts.max_seconds;
    return x;
}

static request *read_question(engine *e, const request_spec *q, refusal *why)
{
    fault    own = {0};
    id_list  prompt = model_ids(&own);
    request *x = NULL;
    if (!check_question(e, q, why)) return NULL;
    bool read = !q->ids       ? model_encode_prompt(e->model, q->text, q->bytes, &prompt)
                : q->complete ? ids_add_all(&prompt, q->ids, q->nids)
                              : model_take_prompt(e->model, q->ids, q->nids, &prompt);
    if (!read)
        refuse(why, REFUSED_WRONG, own.text);
    else if (check_ids(e, &prompt, why))
        x = request_of(e, q, &prompt, why);
    ids_free(&prompt);
    return x;
}

static bool enter(engine *e, int n, request *const *all, refusal *why)
{
    int64_t sequences = 0;
    for (int k = 0; k < n; k++) sequences += all[k]->nsequences;
    pthread_mutex_lock(&e->lock);
    bool admitted = admit(e, sequences, why);
    for (int k = 0; admitted && k < n; k++) {
        if (e->last)
            e->last->next = all[k];
        else
            e->all = all[k];
        e->last = all[k];
    }
    pthread_mutex_unlock(&e->lock);
    return admitted;
}

bool engine_submit_all(engine *e, int n, const request_spec *q, request **to, refusal *why)
{
    int  read = 0;
    bool ok = true;
    while (ok && read < n) {
        to[read] = read_question(e, &q[read], why);
        ok = to[read] != NULL;
        read += ok;
    }
    if (ok && enter(e, n, to, why)) return true;
    for (int k = 0; k < n; k++) {
        if (k < read) request_destroy(to[k]);
        to[k] = NULL;
    }
    return false;
}

request *engine_submit(engine *e, const request_spec *q, refusal *why)
{
    request *x;
    return engine_submit_all(e, 1, q, &x, why) ? x : NULL;
}

bool engine_score(engine *e, int n, score_item *items, refusal *why)
{
    score_task task = {.n = n, .items = items};
    pthread_mutex_lock(&e->lock);
    bool ok = admit(e, n, why);
    if (ok) {
        score_task **at = &e->scores;
        while (*at) at = &(*at)->next;
        *at = &task;
        while (!task.over) pthread_cond_wait(&e->scored, &e->lock);
        if (task.failed) ok = refuse(why, REFUSED_STOPPING, e->refuses);
    }
    pthread_mutex_unlock(&e->lock);
    return ok;
}
