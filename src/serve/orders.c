/* Orders: the first rank tells the others what to do. */
#include "serve/orders.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/share.h"

typedef enum order_kind {
    ORDER_NOTHING,
    ORDER_START,
    ORDER_CANCEL,
    ORDER_STEP,
    ORDER_SCORE,
    ORDER_END
} order_kind;

/* The head of an order; `words` 32-bit numbers follow it. */
typedef struct order {
    int32_t      kind, place;
    int32_t      count; /* ids of a prompt, or texts to score */
    int32_t      words;
    mtf_sampling how; /* without its pointer, which is local to a process */
} order;

struct orders {
    ranks          *ranks;
    double          last; /* time of the last order */
    mtf_decode_job *jobs; /* in other ranks, by slot; prompt NULL: none */
};

bool orders_open(answers *a)
{
    mtf_session *s = a->model->session;
    ranks       *others = NULL;
    TRY(store_prepare(s, &others));
    if (!others) return true;
    a->orders = arena_new(&s->arena, orders);
    TRY(a->orders != NULL);
    a->orders->ranks = others;
    a->orders->jobs = arena_array(&s->arena, mtf_decode_job, a->opts.batch);
    return a->orders->jobs != NULL;
}

/* ---- the first rank ---- */

static bool tell(answers *a, const order *o, const int32_t *words)
{
    order copy = *o;
    if (!a->orders) return true;
    TRY(mtf_ok(a->model->session)); /* an error reaches the other ranks in another way */
    a->orders->last = clock_seconds();
    TRY(share_bytes(a->orders->ranks, "waiting for requests", (int)sizeof copy, &copy));
    return !o->words || share_bytes(a->orders->ranks, "waiting for a request",
                                    (int)sizeof *words * o->words, (void *)words);
}

bool order_start(answers *a, int64_t place, mtf_decode_job *job)
{
    order o = {.kind = ORDER_START,
               .place = (int32_t)place,
               .count = (int32_t)job->length,
               .words = (int32_t)job->length,
               .how = job->how};
    return tell(a, &o, job->prompt) && mtf_decode_start(a->decoder, job);
}

bool order_cancel(answers *a, int64_t place, mtf_decode_job *job)
{
    TRY(tell(a, &(order){.kind = ORDER_CANCEL, .place = (int32_t)place}, NULL));
    mtf_decode_cancel(a->decoder, job);
    return true;
}

int order_step(answers *a)
{
    return tell(a, &(order){.kind = ORDER_STEP}, NULL) ? mtf_decode_step(a->decoder) : -1;
}

int order_score(answers *a, int n, score_item *items)
{
    if (!a->orders) return scorer_step(a->scorer, n, items);
    if (n > a->opts.batch) n = (int)a->opts.batch;
    int32_t words = 0, at = 0;
    for (int k = 0; k < n; k++) words += (int32_t)(3 + items[k].nprompt + items[k].nids);
    int32_t *list = malloc(sizeof *list * (size_t)words);
    if (!list) return 0;
    for (int k = 0; k < n; k++) {
        const score_item *x = &items[k];
        list[at++] = (int32_t)x->nprompt;
        list[at++] = (int32_t)x->nids;
        list[at++] = (int32_t)x->nalternatives;
        for (int64_t i = 0; i < x->nprompt; i++) list[at++] = x->prompt[i];
        for (int64_t i = 0; i < x->nids; i++) list[at++] = x->ids[i];
    }
    bool ok = tell(a, &(order){.kind = ORDER_SCORE, .count = n, .words = words}, list);
    free(list);
    return ok ? scorer_step(a->scorer, n, items) : 0;
}

bool order_nothing(answers *a)
{
    static const double often = 0.5; /* seconds */
    if (!a->orders || clock_seconds() < a->orders->last + often) return true;
    return tell(a, &(order){.kind = ORDER_NOTHING}, NULL);
}

bool order_end(answers *a)
{
    return tell(a, &(order){.kind = ORDER_END}, NULL);
}

/* ---- the others ---- */

static void forget(answers *a, mtf_decode_job *job)
{
    mtf_decode_free(a->decoder, job);
    free((void *)job->prompt);
    *job = (mtf_decode_job){.prompt = NULL};
}

static bool follow_start(answers *a, const order *o, int32_t *words)
{
    mtf_decode_job *job = &a->orders->jobs[o->place];
    *job = (mtf_decode_job){.prompt = words, .length = o->count, .how = o->how};
    job->how.stop = a->stop;
    return mtf_decode_start(a->decoder, job);
}

static bool follow_step(answers *a)
{
    bool ok = mtf_decode_step(a->decoder) >= 0;
    for (int64_t k = 0; k < a->opts.batch; k++)
        if (a->orders->jobs[k].prompt && a->orders->jobs[k].done) forget(a, &a->orders->jobs[k]);
    return ok;
}

static bool follow_score(answers *a, const order *o, const int32_t *words)
{
    score_item *items = calloc((size_t)o->count, sizeof *items);
    double     *values = calloc((size_t)o->words, sizeof *values); /* only the first rank uses them */
    bool        ok = items && values;
    for (int k = 0; ok && k < o->count; k++) {
        items[k] = (score_item){.nprompt = words[0],
                                .nids = words[1],
                                .nalternatives = words[2],
                                .log_probability = values};
        items[k].prompt = words + 3;
        items[k].ids = items[k].prompt + items[k].nprompt;
        words = items[k].ids + items[k].nids;
    }
    if (!ok) fail(&a->model->session->fault, ERR_MEMORY, "no memory for texts to score");
    ok = ok && scorer_step(a->scorer, o->count, items) > 0;
    free(items);
    free(values);
    return ok;
}

/* Gives the words of a prompt to its job. */
static bool follow(answers *a, const order *o, int32_t *words)
{
    mtf_decode_job *job = &a->orders->jobs[o->place];
    switch ((order_kind)o->kind) {
    case ORDER_START: return follow_start(a, o, words);
    case ORDER_CANCEL:
        mtf_decode_cancel(a->decoder, job);
        forget(a, job);
        return true;
    case ORDER_STEP: return follow_step(a);
    case ORDER_SCORE: return follow_score(a, o, words);
    default: return true;
    }
}

bool orders_follow(answers *a)
{
    order o = {.kind = ORDER_NOTHING};
    while (o.kind != ORDER_END) {
        TRY(share_bytes(a->orders->ranks, "waiting for requests", (int)sizeof o, &o));
        int32_t *words = malloc(sizeof *words * (size_t)(o.words + 1));
        if (!words) return fail(&a->model->session->fault, ERR_MEMORY, "no memory for a request");
        bool ok = !o.words || share_bytes(a->orders->ranks, "waiting for a request",
                                          (int)sizeof *words * o.words, words);
        ok = ok && follow(a, &o, words);
        if (o.kind != ORDER_START) free(words);
        TRY(ok);
    }
    for (int64_t k = 0; k < a->opts.batch; k++)
        if (a->orders->jobs[k].prompt) {
            mtf_decode_cancel(a->decoder, &a->orders->jobs[k]);
            forget(a, &a->orders->jobs[k]);
        }
    return true;
}
