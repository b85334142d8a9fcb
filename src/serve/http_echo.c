/* The echo of prompts. */
#include "serve/http_echo.h"

#include "serve/http_exchange.h"

#if MTF_HAVE_MICROHTTPD
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/serve_reply.h"

typedef struct echoed {
    char      *text;
    id_list    ids;
    score_item score;
} echoed;

static bool prompt_ids(const opened_model *m, const request_prompt *p, id_list *to)
{
    if (p->text) return model_encode_prompt(m, p->text, p->bytes, to);
    return model_take_prompt(m, p->ids, p->nids, to);
}

static bool read_prompt(const opened_model *m, const request_prompt *p, echoed *to, refusal *why)
{
    fault own = {0};
    to->ids = model_ids(&own);
    if (!prompt_ids(m, p, &to->ids)) {
        why->kind = REFUSED_WRONG;
        snprintf(why->text, sizeof why->text, "%.250s", own.text);
        return false;
    }
    to->text = p->text ? strdup(p->text) : model_text(m, p->ids, p->nids);
    return to->text != NULL;
}

/* Prepares one for scoring, with so many alternatives to each token. */
static bool make_item(const opened_model *m, echoed *e, int64_t alternatives, refusal *why)
{
    size_t n = (size_t)e->ids.count;
    e->score = (score_item){.ids = e->ids.ids,
                            .nids = e->ids.count,
                            .log_probability = calloc(n + 1, sizeof(double)),
                            .nalternatives = alternatives};
    e->score.alternatives = calloc(n * (size_t)alternatives + 1, sizeof *e->score.alternatives);
    TRY(e->score.log_probability && e->score.alternatives);
    bool takes = scorer_takes(m, &e->score, why->text, sizeof why->text);
    if (!takes) why->kind = REFUSED_WRONG;
    return takes;
}

static bool score(engine *e, int n, echoed *all, int64_t alternatives, refusal *why)
{
    score_item *items = calloc((size_t)n, sizeof *items);
    bool        ok = items != NULL;
    for (int k = 0; ok && k < n; k++) {
        ok = make_item(engine_model(e), &all[k], alternatives, why);
        items[k] = all[k].score;
    }
    ok = ok && engine_score(e, n, items, why);
    free(items);
    return ok;
}

/* Without a start token the first token has no alternatives. */
static bool add_tokens(const opened_model *m, const echoed *e, choice *to)
{
    int64_t n = e->score.nalternatives;
    for (int64_t k = 0; k < e->ids.count; k++) {
        bool    unknown = k == 0 && m->model->opts.no_shift;
        int32_t id = e->ids.ids[k];
        double  its = e->score.log_probability[k];
        cJSON  *list = NULL;
        if (n && !unknown)
            list = reply_alternatives(m, (int)n, e->score.alternatives + k * n, id, its);
        char *text = model_text(m, &id, 1);
        bool  ok = choice_add_token(to, text ? text : "", its, list) && text;
        free(text);
        TRY(ok);
    }
    return true;
}

static void free_echoed(int n, echoed *all)
{
    for (int k = 0; all && k < n; k++) {
        free(all[k].text);
        free(all[k].score.log_probability);
        free(all[k].score.alternatives);
        ids_free(&all[k].ids);
    }
    free(all);
}

bool http_echo(engine *e, const completion_request *r, int results, choice *choices,
               int64_t *tokens, refusal *why)
{
    const opened_model *m = engine_model(e);
    int                 n = r->nprompts;
    echoed             *all = calloc((size_t)n, sizeof *all);
    bool                ok = all != NULL;
    *why = (refusal){.kind = REFUSED_BUSY, .text = "there is no memory for the prompt"};
    for (int k = 0; ok && k < n; k++) ok = read_prompt(m, &r->prompts[k], &all[k], why);
    if (ok && r->log_probabilities) ok = score(e, n, all, r->like.how.alternatives, why);
    *tokens = 0;
    for (int k = 0; ok && k < n; k++) {
        *tokens += all[k].ids.count;
        for (int i = 0; ok && i < results; i++) {
            choice *to = &choices[k * results + i];
            ok = choice_add_text(to, all[k].text) &&
                 (!r->log_probabilities || add_tokens(m, &all[k], to));
        }
    }
    free_echoed(n, all);
    return ok;
}

#endif
