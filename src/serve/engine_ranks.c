/* The engine on several ranks: the first leads the others. */
#include "serve/engine_ranks.h"

#include <assert.h>
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
    int32_t      kind, row;
    int32_t      count; /* ids of a prompt, or texts to score */
    int32_t      words;
    mtf_sampling how; /* without its pointer, which is local to a process */
} order;

struct lead {
    ranks          *ranks;
    double          last; /* time of the last order */
    mtf_decode_job *jobs; /* in other ranks, by slot; prompt NULL: none */
};

bool lead_open(engine *e)
{
    mtf_session *s = e->model->session;
    ranks       *others = NULL;
    TRY(store_prepare(s, &others));
    if (!others) return true;
    e->lead = arena_new(&s->arena, lead);
    TRY(e->lead != NULL);
    e->lead->ranks = others;
    e->lead->jobs = arena_array(&s->arena, mtf_decode_job, e->opts.batch);
    return e->lead->jobs != NULL;
}

/* ---- the first rank ---- */

static bool tell(engine *e, const order *o, const int32_t *words)
{
    order copy = *o;
    if (!e->lead) return true;
    TRY(mtf_ok(e->model->session)); /* an error reaches the other ranks in another way */
    e->lead->last = clock_seconds();
    TRY(share_bytes(e->lead->ranks, "waiting for requests", (int)sizeof copy, &copy));
    return !o->words || share_bytes(e->lead->ranks, "waiting for a request",
                                    (int)sizeof *words * o->words, (void *)words);
}

bool lead_start(engine *e, int64_t row, mtf_decode_job *job)
{
    order o = {.kind = ORDER_START,
               .row = (int32_t)row,
               .count = (int32_t)job->length,
               .words = (int32_t)job->length,
               .how = job->how};
    return tell(e, &o, job->prompt) && mtf_decode_start(e->decoder, job);
}

bool lead_cancel(engine *e, int64_t row, mtf_decode_job *job)
{
    TRY(tell(e, &(order){.kind = ORDER_CANCEL, .row = (int32_t)row}, NULL));
    mtf_decode_cancel(e->decoder, job);
    return true;
}

int lead_step(engine *e)
{
    return tell(e, &(order){.kind = ORDER_STEP}, NULL) ? mtf_decode_step(e->decoder) : -1;
}

int lead_score(engine *e, int n, score_item *items)
{
    if (!e->lead) return scorer_step(e->scorer, n, items);
    if (n > e->opts.batch) n = (int)e->opts.batch;
    int32_t words = 0, at = 0;
    for (int k = 0; k < n; k++) words += (int32_t)(3 + items[k].nprompt + items[k].nids);
    assert(words > 0);
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
    bool ok = tell(e, &(order){.kind = ORDER_SCORE, .count = n, .words = words}, list);
    free(list);
    return ok ? scorer_step(e->scorer, n, items) : 0;
}

bool lead_on(engine *e)
{
    static const double often = 0.5; /* seconds */
    if (!e->lead || clock_seconds() < e->lead->last + often) return true;
    return tell(e, &(order){.kind = ORDER_NOTHING}, NULL);
}

bool lead_end(engine *e)
{
    return tell(e, &(order){.kind = ORDER_END}, NULL);
}

/* ---- the others ---- */

static void forget(engine *e, mtf_decode_job *job)
{
    mtf_decode_free(e->decoder, job);
    free((void *)job->prompt);
    *job = (mtf_decode_job){.prompt = NULL};
}

static bool follow_start(engine *e, const order *o, int32_t *words)
{
    mtf_decode_job *job = &e->lead->jobs[o->row];
    *job = (mtf_decode_job){.prompt = words, .length = o->count, .how = o->how};
    job->how.stop = e->stop;
    return mtf_decode_start(e->decoder, job);
}

static bool follow_step(engine *e)
{
    bool ok = mtf_decode_step(e->decoder) >= 0;
    for (int64_t k = 0; k < e->opts.batch; k++)
        if (e->lead->jobs[k].prompt && e->lead->jobs[k].done) forget(e, &e->lead->jobs[k]);
    return ok;
}

static bool follow_score(engine *e, const order *o, const int32_t *words)
{
    assert(o->count > 0 && o->words > 0);
    score_item *items = calloc((size_t)o->count, sizeof *items);
    double *values = calloc((size_t)o->words, sizeof *values); /* only the first rank uses them */
    bool    ok = items && values;
    for (int k = 0; ok && k < o->count; k++) {
        items[k] = (score_item){.nprompt = words[0],
                                .nids = words[1],
                                .nalternatives = words[2],
                                .log_probability = values};
        items[k].prompt = words + 3;
        items[k].ids = items[k].prompt + items[k].nprompt;
        words = items[k].ids + items[k].nids;
    }
    if (!ok) fail(&e->model->session->fault, ERR_MEMORY, "no memory for texts to score");
    ok = ok && scorer_step(e->scorer, o->count, items) > 0;
    free(items);
    free(values);
    return ok;
}

/* Gives the words of a prompt to its job. */
static bool follow(engine *e, const order *o, int32_t *words)
{
    mtf_decode_job *job = &e->lead->jobs[o->row];
    switch ((order_kind)o->kind) {
    case ORDER_START: return follow_start(e, o, words);
    case ORDER_CANCEL:
        mtf_decode_cancel(e->decoder, job);
        forget(e, job);
        return true;
    case ORDER_STEP: return follow_step(e);
    case ORDER_SCORE: return follow_score(e, o, words);
    default: return true;
    }
}

bool lead_follow(engine *e)
{
    order o = {.kind = ORDER_NOTHING};
    while (o.kind != ORDER_END) {
        TRY(share_bytes(e->lead->ranks, "waiting for requests", (int)sizeof o, &o));
        int32_t *words = malloc(sizeof *words * (size_t)(o.words + 1));
        if (!words) return fail(&e->model->session->fault, ERR_MEMORY, "no memory for a request");
        bool ok = !o.words || share_bytes(e->lead->ranks, "waiting for a request",
                                          (int)sizeof *words * o.words, words);
        ok = ok && follow(e, &o, words);
        if (o.kind != ORDER_START) free(words);
        TRY(ok);
    }
    for (int64_t k = 0; k < e->opts.batch; k++)
        if (e->lead->jobs[k].prompt) {
            mtf_decode_cancel(e->decoder, &e->lead->jobs[k]);
            forget(e, &e->lead->jobs[k]);
        }
    return true;
}
