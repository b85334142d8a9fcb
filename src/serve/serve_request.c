/* Requests as JSON, parsed and checked. */
#include "serve/serve_request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "serve/body_fields.h"

/* Rows of tables omit fields that are zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* A parameter that clients often send, accepted only where it has no effect. */
static bool take_zero(body_reading *r, const cJSON *v)
{
    if (cJSON_IsNumber(v) && v->valuedouble == 0) return true;
    return body_wrong(r, "\"%s\" is not supported here; leave it out", v->string);
}

/* Biases of logits that change nothing: {}, or zeros. */
static bool take_zeros(body_reading *r, const cJSON *v)
{
    const cJSON *item = NULL;
    bool         ok = cJSON_IsObject(v);
    cJSON_ArrayForEach(item, v) ok = ok && cJSON_IsNumber(item) && item->valuedouble == 0;
    return ok || body_wrong(r, "\"%s\" is not supported here, except {}; leave it out", v->string);
}

/* ---- prompts ---- */

static bool is_ids(const cJSON *list)
{
    const cJSON *item;
    if (!cJSON_IsArray(list) || !list->child) return false;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNumber(item)) return false;
    }
    return true;
}

static bool take_prompt(body_reading *r, const char *name, const cJSON *v, request_prompt *to)
{
    if (cJSON_IsString(v)) {
        *to = (request_prompt){.text = v->valuestring, .bytes = strlen(v->valuestring)};
        return true;
    }
    if (!is_ids(v))
        return body_wrong(
            r, "\"%s\" must be a string, a list of strings, or a list of token numbers", name);
    to->ids = calloc((size_t)cJSON_GetArraySize(v), sizeof *to->ids);
    if (!to->ids) return body_wrong(r, "there is no memory for \"%s\"", name);
    const cJSON *item;
    cJSON_ArrayForEach(item, v)
    {
        double x = item->valuedouble;
        if (!(x >= 0 && x <= INT32_MAX) || x != floor(x))
            return body_wrong(r, "\"%s\" holds %g, which is not a token", name, x);
        to->ids[to->nids++] = (int32_t)x;
    }
    return true;
}

static bool take_prompts(body_reading *r, const cJSON *v, request_prompt **to, int *n)
{
    bool several = cJSON_IsArray(v) && !is_ids(v);
    int  count = several ? cJSON_GetArraySize(v) : 1;
    if (count == 0) return body_wrong(r, "\"%s\" is an empty list", v->string);
    *to = calloc((size_t)count, sizeof **to);
    if (!*to) return body_wrong(r, "there is no memory for \"%s\"", v->string);
    *n = count;
    if (!several) return take_prompt(r, v->string, v, *to);
    const cJSON *item = v->child;
    for (int k = 0; k < count; k++, item = item->next)
        TRY(take_prompt(r, v->string, item, *to + k));
    return true;
}

static void free_prompts(request_prompt *list, int n)
{
    for (int k = 0; list && k < n; k++) free(list[k].ids);
    free(list);
}

/* ---- completions ---- */

static bool take_completion_prompts(body_reading *r, const cJSON *v)
{
    completion_request *c = r->request;
    return take_prompts(r, v, &c->prompts, &c->nprompts);
}

static bool take_results(body_reading *r, const cJSON *v)
{
    completion_request *c = r->request;
    int64_t             n = 0;
    TRY(body_whole(r, v, 1, INT32_MAX, &n));
    c->like.results = (int)n;
    return true;
}

static bool take_seed(body_reading *r, const cJSON *v)
{
    completion_request *c = r->request;
    int64_t             seed = 0;
    TRY(body_whole(r, v, -(1LL << 53), 1LL << 53, &seed));
    c->like.how.seed = (uint64_t)seed;
    c->seeded = true;
    return true;
}

static bool take_logprobs(body_reading *r, const cJSON *v)
{
    enum { MOST = 20 };
    completion_request *c = r->request;
    double              n = cJSON_IsNumber(v) ? v->valuedouble : -1;
    c->log_probabilities = n >= 0 && n <= MOST && n == floor(n);
    if (!c->log_probabilities)
        return body_wrong(
            r,
            "\"logprobs\" must be a whole number from 0 to %d: how many alternatives to "
            "each token have their log probability, too",
            MOST);
    c->like.how.alternatives = (int64_t)n;
    return true;
}

static bool take_stop(body_reading *r, const cJSON *v)
{
    completion_request *c = r->request;
    bool                list = cJSON_IsArray(v);
    int                 n = list ? cJSON_GetArraySize(v) : 1;
    if (n > MOST_STOP_STRINGS)
        return body_wrong(r, "\"stop\" has more than %d strings", MOST_STOP_STRINGS);
    for (int k = 0; k < n; k++) {
        const cJSON *item = list ? cJSON_GetArrayItem(v, k) : v;
        if (!cJSON_IsString(item) || !*item->valuestring)
            return body_wrong(r,
                              "\"stop\" must be a string or a list of strings, none of them empty");
        c->stops[k] = item->valuestring;
    }
    return true;
}

static bool take_stream_options(body_reading *r, const cJSON *v)
{
    static const char   word[] = "include_usage";
    completion_request *c = r->request;
    const cJSON        *usage = cJSON_GetObjectItemCaseSensitive(v, word);
    if (!cJSON_IsObject(v) || cJSON_GetArraySize(v) != (usage != NULL))
        return body_wrong(r, "\"stream_options\" must be an object with \"%s\"", word);
    return !usage || body_flag(r, usage, &c->usage);
}

static bool take_unsupported(body_reading *r, const cJSON *v)
{
    return body_wrong(r, "\"%s\" is not supported here; leave it out", v->string);
}

#define IN(member) offsetof(completion_request, member)
/* clang-format off */
static const request_field completion_fields[] = {
    {"prompt",            .take = take_completion_prompts},
    {"model",             FIELD_TEXT,   IN(model)},
    {"max_tokens",        FIELD_WHOLE,  IN(like.how.max_tokens),  0, INT32_MAX},
    {"temperature",       FIELD_NUMBER, IN(like.how.temperature), 0, 1e6},
    {"top_p",             FIELD_NUMBER, IN(like.how.top_p),       0, 1},
    {"top_k",             FIELD_WHOLE,  IN(like.how.top_k),       0, INT32_MAX},
    {"n",                 .take = take_results},
    {"best_of",           FIELD_WHOLE,  IN(best_of),              1, INT32_MAX},
    {"stop",              .take = take_stop},
    {"seed",              .take = take_seed},
    {"stream",            FIELD_FLAG,   IN(stream)},
    {"stream_options",    .take = take_stream_options},
    {"echo",              FIELD_FLAG,   IN(echo)},
    {"logprobs",          .take = take_logprobs},
    {"alpha",             FIELD_NUMBER, IN(like.how.alpha),       0, 100},
    {"user",              FIELD_TEXT,   IN(user)},
    {"presence_penalty",  .take = take_zero},
    {"frequency_penalty", .take = take_zero},
    {"logit_bias",        .take = take_zeros},
    {"suffix",            .take = take_unsupported},
    {.name = NULL},
};
/* clang-format on */

bool completion_parse(const char *body, size_t bytes, completion_request *r, char *why, size_t room)
{
    enum { MOST_BY_DEFAULT = 16 };
    body_reading in = {why, room, r};
    *r = (completion_request){
        .like = {
            .results = 1,
            .how = {.temperature = 1, .top_p = 1, .alpha = 0.6, .max_tokens = MOST_BY_DEFAULT}}};
    r->like.stops = r->stops;
    r->root = body_object(&in, body, bytes);
    TRY(r->root && body_fields(&in, r->root, completion_fields));
    r->nothing_new = r->like.how.max_tokens == 0;
    if (!r->nprompts) return body_wrong(&in, "\"prompt\" is missing");
    if (r->nothing_new && !r->echo)
        return body_wrong(&in, "\"max_tokens\" is 0: without \"echo\" there is nothing to say");
    if (r->best_of && r->best_of != r->like.results)
        return body_wrong(
            &in, "\"best_of\" is not supported here: there are as many results as \"n\" says");
    if (r->like.how.top_p == 0) r->like.how.top_k = 1; /* 0 stands for all there */
    if (r->like.how.top_p == 1) r->like.how.top_p = 0;
    if (r->like.how.alpha == 0) r->like.how.alpha = -1; /* 0 stands for the default there */
    return true;
}

void completion_free(completion_request *r)
{
    free_prompts(r->prompts, r->nprompts);
    cJSON_Delete(r->root);
    *r = (completion_request){.root = NULL};
}

/* ---- scores ---- */

/* Read after all other parameters. */
static bool take_later(body_reading *r, const cJSON *v)
{
    (void)r, (void)v;
    return true;
}

static const request_field score_fields[] = {
    {"prompt", .take = take_later},
    {"continuation", .take = take_later},
    {"model", FIELD_TEXT, offsetof(score_request, model)},
    {"end", FIELD_FLAG, offsetof(score_request, end)},
    {"user", FIELD_TEXT, offsetof(score_request, user)},
    {.name = NULL},
};

/* One prompt may precede many continuations; ids are copied, because each copy is freed separately. */
static bool repeat_prompt(body_reading *in, score_request *r)
{
    request_prompt first = r->prompts[0], *all = calloc((size_t)r->count, sizeof *all);
    bool           enough = true;
    if (!all) {
        free_prompts(r->prompts, 1);
        r->prompts = NULL;
        return body_wrong(in, "there is no memory for \"prompt\"");
    }
    for (int k = 0; k < r->count; k++) {
        all[k] = first;
        if (!first.ids || k == 0) continue;
        all[k].ids = malloc(sizeof *first.ids * (size_t)first.nids);
        enough = enough && all[k].ids;
        if (all[k].ids) memcpy(all[k].ids, first.ids, sizeof *first.ids * (size_t)first.nids);
    }
    free(r->prompts);
    r->prompts = all;
    return enough || body_wrong(in, "there is no memory for \"prompt\"");
}

bool score_parse(const char *body, size_t bytes, score_request *r, char *why, size_t room)
{
    body_reading in = {why, room, r};
    int          prompts = 0;
    *r = (score_request){.root = body_object(&in, body, bytes)};
    TRY(r->root && body_fields(&in, r->root, score_fields));
    const cJSON *targets = cJSON_GetObjectItemCaseSensitive(r->root, "continuation");
    const cJSON *prompt = cJSON_GetObjectItemCaseSensitive(r->root, "prompt");
    if (!targets || cJSON_IsNull(targets)) return body_wrong(&in, "\"continuation\" is missing");
    TRY(take_prompts(&in, targets, &r->targets, &r->count));
    if (!prompt || cJSON_IsNull(prompt)) {
        r->prompts = calloc((size_t)r->count, sizeof *r->prompts);
        for (int k = 0; r->prompts && k < r->count; k++) r->prompts[k].text = "";
        return r->prompts || body_wrong(&in, "there is no memory for the request");
    }
    int  count = r->count;
    bool ok = take_prompts(&in, prompt, &r->prompts, &prompts);
    if (ok && prompts == count) return true;
    if (ok && prompts == 1) return repeat_prompt(&in, r);
    free_prompts(r->prompts, prompts);
    r->prompts = NULL;
    return ok ? body_wrong(&in,
                           "there are %d prompts and %d continuations: one prompt, or one for each",
                           prompts, count)
              : false;
}

void score_free(score_request *r)
{
    free_prompts(r->prompts, r->count);
    free_prompts(r->targets, r->count);
    cJSON_Delete(r->root);
    *r = (score_request){.root = NULL};
}
