/* Replies as JSON, as in OpenAI's completions interface. */
#include "serve/serve_reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

/* Whole numbers of any size, exactly. */
static void add_whole(cJSON *to, const char *key, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    cJSON_AddRawToObject(to, key, digits);
}

static void append(cJSON *list, cJSON *item)
{
    if (!cJSON_AddItemToArray(list, item)) cJSON_Delete(item);
}

static char *printed(cJSON *root)
{
    locale_t before = number_begin();
    char    *text = cJSON_PrintUnformatted(root);
    number_end(before);
    cJSON_Delete(root);
    return text;
}

static void add_end(cJSON *to, finish_reason end)
{
    static const char *const words[] = {[FINISH_STOP] = "stop",
                                        [FINISH_LENGTH] = "length",
                                        [FINISH_LATE] = "timeout",
                                        [FINISH_ABSENT] = "length",
                                        [FINISH_FAILED] = "error"};
    if (end == FINISH_NOT_YET)
        cJSON_AddNullToObject(to, "finish_reason");
    else
        cJSON_AddStringToObject(to, "finish_reason", words[end]);
}

static void add_alternative(const opened_model *m, cJSON *to, int32_t id, double log_probability)
{
    static const char mended[] = "\xef\xbf\xbd"; /* U+FFFD */
    char             *text = model_text(m, &id, 1), number[30];
    bool              plain =
        text && *text && !strstr(text, mended) && !cJSON_GetObjectItemCaseSensitive(to, text);
    snprintf(number, sizeof number, "token_id:%d", id);
    cJSON_AddNumberToObject(to, plain ? text : number, log_probability);
    free(text);
}

cJSON *reply_alternatives(const opened_model *m, int n, const mtf_alternative *list, int32_t id,
                          double log_probability)
{
    cJSON *to = cJSON_CreateObject();
    bool   listed = false;
    for (int k = 0; to && k < n; k++) {
        add_alternative(m, to, list[k].id, list[k].log_probability);
        listed = listed || list[k].id == id;
    }
    if (to && !listed) add_alternative(m, to, id, log_probability);
    return to;
}

static void add_log_probabilities(cJSON *to, const reply_choice *c, bool alternatives)
{
    cJSON  *l = cJSON_AddObjectToObject(to, "logprobs");
    cJSON  *tokens = cJSON_AddArrayToObject(l, "tokens");
    cJSON  *values = cJSON_AddArrayToObject(l, "token_logprobs");
    cJSON  *offsets = cJSON_AddArrayToObject(l, "text_offset");
    int64_t at = c->offset;
    cJSON  *others = alternatives ? cJSON_AddArrayToObject(l, "top_logprobs") : NULL;
    if (!alternatives) cJSON_AddNullToObject(l, "top_logprobs");
    for (int64_t k = 0; k < c->ntokens; k++) {
        append(tokens, cJSON_CreateString(c->tokens[k].text));
        append(values, cJSON_CreateNumber(c->tokens[k].log_probability));
        append(offsets, cJSON_CreateNumber((double)at));
        if (alternatives && c->tokens[k].alternatives)
            cJSON_AddItemReferenceToArray(others, c->tokens[k].alternatives);
        else if (alternatives)
            append(others, cJSON_CreateNull());
        at += (int64_t)strlen(c->tokens[k].text);
    }
}

static void add_usage(cJSON *to, const reply_usage *u)
{
    cJSON *o = cJSON_AddObjectToObject(to, "usage");
    add_whole(o, "prompt_tokens", u->prompt_tokens);
    add_whole(o, "completion_tokens", u->completion_tokens);
    add_whole(o, "total_tokens", u->prompt_tokens + u->completion_tokens);
}

char *reply_completion(const reply_head *h, int n, const reply_choice *choices,
                       const reply_usage *u)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "id", h->id);
    cJSON_AddStringToObject(root, "object", "text_completion");
    add_whole(root, "created", h->created);
    cJSON_AddStringToObject(root, "model", h->model);
    cJSON *list = cJSON_AddArrayToObject(root, "choices");
    for (int k = 0; k < n; k++) {
        cJSON *c = cJSON_CreateObject();
        cJSON_AddStringToObject(c, "text", choices[k].text);
        add_whole(c, "index", choices[k].index);
        if (h->log_probabilities)
            add_log_probabilities(c, &choices[k], h->alternatives);
        else
            cJSON_AddNullToObject(c, "logprobs");
        add_end(c, choices[k].end);
        append(list, c);
    }
    if (u) add_usage(root, u);
    return printed(root);
}

char *reply_error(int status, const char *message)
{
    cJSON *root = cJSON_CreateObject(), *e = cJSON_AddObjectToObject(root, "error");
    cJSON_AddStringToObject(e, "message", message);
    cJSON_AddStringToObject(e, "type",
                            status == 429   ? "rate_limit_error"
                            : status >= 500 ? "server_error"
                                            : "invalid_request_error");
    cJSON_AddNullToObject(e, "param");
    add_whole(e, "code", status);
    return printed(root);
}

static cJSON *describe_model(const opened_model *m, int64_t created)
{
    cJSON *one = cJSON_CreateObject();
    cJSON_AddStringToObject(one, "id", m->name);
    cJSON_AddStringToObject(one, "object", "model");
    add_whole(one, "created", created);
    cJSON_AddStringToObject(one, "owned_by", "mtf");
    add_whole(one, "step", m->step);
    add_whole(one, "max_prompt_tokens", model_max_prompt(m));
    return one;
}

char *reply_model(const opened_model *m, int64_t created)
{
    return printed(describe_model(m, created));
}

char *reply_models(const opened_model *m, int64_t created)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "object", "list");
    append(cJSON_AddArrayToObject(root, "data"), describe_model(m, created));
    return printed(root);
}

char *reply_scores(const opened_model *m, int n, const score_item *items)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "object", "scores");
    cJSON_AddStringToObject(root, "model", m->name);
    cJSON *list = cJSON_AddArrayToObject(root, "scores");
    for (int k = 0; k < n; k++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddNumberToObject(one, "log_probability", items[k].sum);
        cJSON *ids = cJSON_AddArrayToObject(one, "tokens");
        cJSON *each = cJSON_AddArrayToObject(one, "token_logprobs");
        for (int64_t i = 0; i < items[k].nids; i++) {
            append(ids, cJSON_CreateNumber(items[k].ids[i]));
            append(each, cJSON_CreateNumber(items[k].log_probability[i]));
        }
        append(list, one);
    }
    return printed(root);
}
