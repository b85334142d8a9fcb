/* One request: its sequences and the text decoded so far. */
#include "serve/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static bool copy_stops(request *x, const char *const *stops)
{
    size_t n = 0;
    while (stops && stops[n]) n++;
    x->stops = calloc(n + 1, sizeof *x->stops);
    TRY(x->stops != NULL);
    for (size_t k = 0; k < n; k++) {
        x->stops[k] = strdup(stops[k]);
        TRY(x->stops[k] != NULL);
    }
    return true;
}

/* Takes ownership of the ids. */
static bool copy_prompt(request *x, const id_list *prompt)
{
    x->nprompt = prompt->count;
    x->prompt = malloc(sizeof *x->prompt * (size_t)(prompt->count + 1));
    TRY(x->prompt != NULL);
    if (prompt->count) memcpy(x->prompt, prompt->ids, sizeof *x->prompt * (size_t)prompt->count);
    return true;
}

request *request_new(const request_spec *q, id_list *prompt, int nsequences)
{
    request           *x = calloc(1, sizeof *x);
    pthread_condattr_t clock;
    if (!x) return NULL;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&x->news, &clock);
    pthread_condattr_destroy(&clock);
    x->results = x->open = q->results > 0 ? q->results : 1;
    x->nsequences = nsequences;
    x->sequences = calloc((size_t)nsequences, sizeof *x->sequences);
    if (!x->sequences || !copy_prompt(x, prompt) || !copy_stops(x, q->stops)) {
        request_destroy(x);
        return NULL;
    }
    for (int k = 0; k < nsequences; k++) {
        sequence *s = &x->sequences[k];
        *s = (sequence){
            .owner = x, .number = k, .row = -1, .stop = {.stops = (const char *const *)x->stops}};
        s->job = (mtf_decode_job){.prompt = x->prompt, .length = x->nprompt, .how = q->how};
        s->job.how.seed += (uint64_t)k;
        s->job.how.results = x->results;
    }
    return x;
}

void request_destroy(request *x)
{
    for (unread_piece *next; x->first; x->first = next) {
        next = x->first->next;
        free(x->first);
    }
    free(x->given);
    for (int k = 0; x->sequences && k < x->nsequences; k++) stop_text_free(&x->sequences[k].stop);
    for (int k = 0; x->stops && x->stops[k]; k++) free(x->stops[k]);
    free(x->stops);
    free(x->sequences);
    free(x->prompt);
    pthread_cond_destroy(&x->news);
    free(x);
}

void request_say(request *x, const request_piece *piece)
{
    const char *own = piece->own ? piece->own : "";
    size_t      n = strlen(piece->text) + 1, size = strlen(own) + 1,
           others = sizeof *piece->alternatives * (size_t)piece->nalternatives;
    unread_piece *s = malloc(sizeof *s + others + n + size);
    if (piece->end) x->open--;
    if (s) {
        *s = (unread_piece){.piece = *piece};
        if (others) memcpy(s->alternatives, piece->alternatives, others);
        s->piece.alternatives = s->alternatives;
        s->piece.text = memcpy((char *)s->alternatives + others, piece->text, n);
        s->piece.own = memcpy((char *)s->alternatives + others + n, own, size);
        if (x->last)
            x->last->next = s;
        else
            x->first = s;
        x->last = s;
    }
    pthread_cond_broadcast(&x->news);
}

int64_t request_prompt_tokens(const request *x)
{
    return x->nprompt;
}

/* ---- its readers ---- */

bool request_over(request *x)
{
    pthread_mutex_lock(x->lock);
    bool over = !x->first && x->open <= 0;
    pthread_mutex_unlock(x->lock);
    return over;
}

bool request_next(request *x, double seconds, request_piece *piece)
{
    struct timespec until = clock_after(seconds);
    int             late = seconds > 0 ? 0 : ETIMEDOUT;
    pthread_mutex_lock(x->lock);
    free(x->given);
    x->given = NULL;
    while (!x->first && x->open > 0 && !late)
        late = pthread_cond_timedwait(&x->news, x->lock, &until);
    unread_piece *s = x->first;
    if (s) {
        x->first = s->next;
        if (!x->first) x->last = NULL;
        x->given = s;
        *piece = s->piece;
    }
    pthread_mutex_unlock(x->lock);
    return s != NULL;
}

/* The engine's thread frees it, because only that one knows what is still being decoded. */
void request_free(request *x)
{
    pthread_mutex_lock(x->lock);
    x->given_up = true;
    pthread_cond_signal(x->work);
    pthread_mutex_unlock(x->lock);
}
