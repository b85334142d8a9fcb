/* One request: its sequences and the text decoded so far. */
#include "serve/answer.h"

#include <stdlib.h>
#include <string.h>

static bool copy_stops(answer *x, const char *const *stops)
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
static bool copy_prompt(answer *x, const id_list *prompt)
{
    x->nprompt = prompt->count;
    x->prompt = malloc(sizeof *x->prompt * (size_t)(prompt->count + 1));
    TRY(x->prompt != NULL);
    if (prompt->count) memcpy(x->prompt, prompt->ids, sizeof *x->prompt * (size_t)prompt->count);
    return true;
}

answer *answer_new(answers *a, const question *q, id_list *prompt, int nsequences)
{
    answer            *x = calloc(1, sizeof *x);
    pthread_condattr_t clock;
    if (!x) return NULL;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&x->news, &clock);
    pthread_condattr_destroy(&clock);
    x->engine = a;
    x->results = x->open = q->results > 0 ? q->results : 1;
    x->nsequences = nsequences;
    x->sequences = calloc((size_t)nsequences, sizeof *x->sequences);
    if (!x->sequences || !copy_prompt(x, prompt) || !copy_stops(x, q->stops)) {
        answer_destroy(x);
        return NULL;
    }
    for (int k = 0; k < nsequences; k++) {
        sequence *s = &x->sequences[k];
        *s = (sequence){
            .owner = x, .number = k, .place = -1, .stop = {.stops = (const char *const *)x->stops}};
        s->job = (mtf_decode_job){.prompt = x->prompt, .length = x->nprompt, .how = q->how};
        s->job.how.seed += (uint64_t)k;
        s->job.how.results = x->results;
    }
    return x;
}

void answer_destroy(answer *x)
{
    for (said *next; x->first; x->first = next) {
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

void answer_say(answer *x, const answer_piece *piece)
{
    size_t n = strlen(piece->text), others = sizeof *piece->alternatives * (size_t)piece->nalternatives;
    said  *s = malloc(sizeof *s + others + n + 1);
    if (piece->end) x->open--;
    if (s) {
        *s = (said){.piece = *piece};
        if (others) memcpy(s->alternatives, piece->alternatives, others);
        s->piece.alternatives = s->alternatives;
        s->piece.text = memcpy((char *)s->alternatives + others, piece->text, n + 1);
        if (x->last)
            x->last->next = s;
        else
            x->first = s;
        x->last = s;
    }
    pthread_cond_broadcast(&x->news);
}

int64_t answer_prompt_tokens(const answer *x)
{
    return x->nprompt;
}
