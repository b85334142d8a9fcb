/* Scores over HTTP. */
#include "serve/http_exchange.h"

#if MTF_HAVE_MICROHTTPD
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/serve_reply.h"

typedef struct scoring_job {
    score_request request;
    id_list      *prompts, *targets;
    score_item   *items;
} scoring_job;

static void job_free(scoring_job *j)
{
    for (int k = 0; k < j->request.count; k++) {
        if (j->prompts) ids_free(&j->prompts[k]);
        if (j->targets) ids_free(&j->targets[k]);
        if (j->items) free(j->items[k].log_probability);
    }
    free(j->prompts);
    free(j->targets);
    free(j->items);
    score_free(&j->request);
}

static bool check_ids(const id_list *ids, int64_t vocab, refusal *why)
{
    for (int64_t k = 0; k < ids->count; k++) {
        if (ids->ids[k] >= 0 && ids->ids[k] < vocab) continue;
        snprintf(why->text, sizeof why->text, "token %lld is %d; the model's vocabulary has %lld",
                 (long long)k, ids->ids[k], (long long)vocab);
        return false;
    }
    return true;
}

static bool make_item(const opened_model *m, scoring_job *j, int k, refusal *why)
{
    const request_prompt *prompt = &j->request.prompts[k], *target = &j->request.targets[k];
    fault                 own = {0};
    id_list              *before = &j->prompts[k], *ids = &j->targets[k];
    int32_t               end = mtf_vocabulary_end(m->vocabulary);
    *before = *ids = model_ids(&own);
    why->kind = REFUSED_WRONG;
    bool ok = (prompt->text ? model_encode_prompt(m, prompt->text, prompt->bytes, before)
                            : model_take_prompt(m, prompt->ids, prompt->nids, before)) &&
              (target->text ? model_encode_target(m, target->text, target->bytes, ids)
                            : ids_add_all(ids, target->ids, target->nids)) &&
              (!j->request.end || end < 0 || ids_add(ids, end));
    if (!ok) snprintf(why->text, sizeof why->text, "%.250s", own.text);
    TRY(ok && check_ids(before, m->model->opts.input_vocab, why) &&
        check_ids(ids, m->model->opts.output_vocab, why));
    j->items[k] = (score_item){.prompt = before->ids,
                               .nprompt = before->count,
                               .ids = ids->ids,
                               .nids = ids->count,
                               .log_probability = calloc((size_t)ids->count + 1, sizeof(double))};
    if (!j->items[k].log_probability) snprintf(why->text, sizeof why->text, "there is no memory");
    return j->items[k].log_probability &&
           scorer_takes(m, &j->items[k], why->text, sizeof why->text);
}

static bool make_items(const opened_model *m, scoring_job *j, refusal *why)
{
    size_t n = (size_t)j->request.count;
    j->prompts = calloc(n, sizeof *j->prompts);
    j->targets = calloc(n, sizeof *j->targets);
    j->items = calloc(n, sizeof *j->items);
    *why = (refusal){.kind = REFUSED_BUSY, .text = "there is no memory for the request"};
    TRY(j->prompts && j->targets && j->items);
    for (size_t k = 0; k < n; k++) TRY(make_item(m, j, (int)k, why));
    return true;
}

enum MHD_Result http_scores(http_exchange *x)
{
    const opened_model *m = engine_model(x->engine);
    scoring_job         j = {.items = NULL};
    refusal             why;
    enum MHD_Result     result;
    bool ok = score_parse(x->body.bytes ? x->body.bytes : "", (size_t)x->body.count, &j.request,
                          why.text, sizeof why.text);
    if (!ok) {
        result = http_error(x, MHD_HTTP_BAD_REQUEST, "%s", why.text);
    } else if (j.request.model && strcmp(j.request.model, m->name) != 0) {
        result = http_error(x, MHD_HTTP_NOT_FOUND, "there is no model \"%.100s\"; this is \"%s\"",
                            j.request.model, m->name);
    } else {
        http_patience(x, true);
        ok = make_items(m, &j, &why) && engine_score(x->engine, j.request.count, j.items, &why);
        http_patience(x, false);
        result = ok ? http_reply(x, MHD_HTTP_OK, reply_scores(m, j.request.count, j.items))
                    : http_refused(x, &why);
    }
    job_free(&j);
    return result;
}

#endif
