/* Requests as JSON, parsed and checked. */
#include "serve/serve_request.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/numbers.h"
#include "data/text/utf8.h"

/* Rows of tables omit fields that are zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* Receives the error message. */
typedef struct reading {
    char  *why;
    size_t room;
    void  *request;
} reading;

static bool wrong(reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool wrong(reading *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    number_vformat(r->why, r->room, format, args);
    va_end(args);
    return false;
}

/* ---- the body ---- */

static bool is_utf8(const char *text, size_t n)
{
    uint32_t character;
    for (size_t at = 0, taken; at < n; at += taken)
        if (utf8_take(text + at, n - at, &taken, &character) != UTF8_CHARACTER) return false;
    return true;
}

/* A character with code 0, which a C string cannot hold. */
static bool has_zero(const char *text, size_t n)
{
    for (size_t k = 0; k + 1 < n; k++) {
        if (text[k] != '\\') continue;
        if (k + 5 < n && memcmp(text + k, "\\u0000", 6) == 0) return true;
        k++;
    }
    return memchr(text, 0, n) != NULL;
}

static cJSON *read_object(reading *r, const char *body, size_t bytes)
{
    const char *end = NULL;
    bool        text = is_utf8(body, bytes), zero = has_zero(body, bytes);
    if (!text || zero) {
        wrong(r, text ? "the body has a character with code 0" : "the body is not UTF-8");
        return NULL;
    }
    cJSON *root = bytes ? cJSON_ParseWithLengthOpts(body, bytes, &end, false) : NULL;
    while (root && end < body + bytes && strchr(" \t\r\n", *end)) end++;
    if (root && end == body + bytes && cJSON_IsObject(root)) return root;
    if (root && end == body + bytes)
        wrong(r, "the body is not a JSON object");
    else
        wrong(r, "the body is not JSON%s", bytes ? "" : ": it is empty");
    cJSON_Delete(root);
    return NULL;
}

/* ---- fields ---- */

typedef enum field_kind { FIELD_OWN, FIELD_NUMBER, FIELD_WHOLE, FIELD_FLAG, FIELD_TEXT } field_kind;

/* A parameter: the offset and range of its value; or a function that reads it. */
typedef struct request_field {
    const char *name;
    field_kind  kind;
    size_t      at; /* in the request: double, int64_t, bool or const char * */
    double      least, most;
    bool (*take)(reading *r, const cJSON *value);
} request_field;

enum { MOST_FIELDS_READ = 64 };

static bool take_field(reading *r, const request_field *f, const cJSON *v);

/* Reads each member with the field of its name. */
static bool take_fields(reading *r, const cJSON *root, const request_field *fields)
{
    bool         seen[MOST_FIELDS_READ] = {false};
    const cJSON *member;
    cJSON_ArrayForEach(member, root)
    {
        nearest near = {.wanted = member->string};
        char    hint[100];
        int     k = 0;
        for (; fields[k].name && strcmp(fields[k].name, member->string) != 0; k++)
            nearest_offer(&near, fields[k].name);
        if (!fields[k].name)
            return wrong(r, "there is no parameter \"%.60s\"%s", member->string,
                         nearest_hint(&near, hint, sizeof hint));
        if (seen[k]) return wrong(r, "\"%s\" is given twice", fields[k].name);
        seen[k] = true;
        if (!cJSON_IsNull(member)) TRY(take_field(r, &fields[k], member));
    }
    return true;
}

static bool take_number(reading *r, const cJSON *v, double least, double most, double *to)
{
    *to = cJSON_IsNumber(v) ? v->valuedouble : NAN;
    if (*to >= least && *to <= most) return true;
    return wrong(r, "\"%s\" must be a number from %g to %g", v->string, least, most);
}

static bool take_whole(reading *r, const cJSON *v, int64_t least, int64_t most, int64_t *to)
{
    double x = cJSON_IsNumber(v) ? v->valuedouble : NAN;
    if (!(x >= (double)least && x <= (double)most) || x != floor(x))
        return wrong(r, "\"%s\" must be a whole number from %lld to %lld", v->string,
                     (long long)least, (long long)most);
    *to = (int64_t)x;
    return true;
}

static bool take_flag(reading *r, const cJSON *v, bool *to)
{
    *to = cJSON_IsTrue(v);
    return cJSON_IsBool(v) || wrong(r, "\"%s\" must be true or false", v->string);
}

static bool take_text(reading *r, const cJSON *v, const char **to)
{
    *to = cJSON_IsString(v) ? v->valuestring : NULL;
    return *to || wrong(r, "\"%s\" must be a text", v->string);
}

static bool take_field(reading *r, const request_field *f, const cJSON *v)
{
    void *to = (char *)r->request + f->at;
    switch (f->kind) {
    case FIELD_NUMBER: return take_number(r, v, f->least, f->most, to);
    case FIELD_WHOLE: return take_whole(r, v, (int64_t)f->least, (int64_t)f->most, to);
    case FIELD_FLAG: return take_flag(r, v, to);
    case FIELD_TEXT: return take_text(r, v, to);
    default: return f->take(r, v);
    }
}

/* A parameter that clients often send, accepted only where it has no effect. */
static bool take_zero(reading *r, const cJSON *v)
{
    if (cJSON_IsNumber(v) && v->valuedouble == 0) return true;
    return wrong(r, "\"%s\" is not supported here; leave it out", v->string);
}

/* Biases of logits that change nothing: {}, or zeros. */
static bool take_zeros(reading *r, const cJSON *v)
{
    const cJSON *item = NULL;
    bool         ok = cJSON_IsObject(v);
    cJSON_ArrayForEach(item, v) ok = ok && cJSON_IsNumber(item) && item->valuedouble == 0;
    return ok || wrong(r, "\"%s\" is not supported here, except {}; leave it out", v->string);
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

static bool take_prompt(reading *r, const char *name, const cJSON *v, request_prompt *to)
{
    if (cJSON_IsString(v)) {
        *to = (request_prompt){.text = v->valuestring, .bytes = strlen(v->valuestring)};
        return true;
    }
    if (!is_ids(v))
        return wrong(r, "\"%s\" must be a string, a list of strings, or a list of token numbers", name);
    to->ids = calloc((size_t)cJSON_GetArraySize(v), sizeof *to->ids);
    if (!to->ids) return wrong(r, "there is no memory for \"%s\"", name);
    const cJSON *item;
    cJSON_ArrayForEach(item, v)
    {
        double x = item->valuedouble;
        if (!(x >= 0 && x <= INT32_MAX) || x != floor(x))
            return wrong(r, "\"%s\" holds %g, which is not a token", name, x);
        to->ids[to->nids++] = (int32_t)x;
    }
    return true;
}

static bool take_prompts(reading *r, const cJSON *v, request_prompt **to, int *n)
{
    bool several = cJSON_IsArray(v) && !is_ids(v);
    int  count = several ? cJSON_GetArraySize(v) : 1;
    if (count == 0) return wrong(r, "\"%s\" is an empty list", v->string);
    *to = calloc((size_t)count, sizeof **to);
    if (!*to) return wrong(r, "there is no memory for \"%s\"", v->string);
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

static bool take_completion_prompts(reading *r, const cJSON *v)
{
    completion_request *c = r->request;
    return take_prompts(r, v, &c->prompts, &c->nprompts);
}

static bool take_results(reading *r, const cJSON *v)
{
    completion_request *c = r->request;
    int64_t             n = 0;
    TRY(take_whole(r, v, 1, INT32_MAX, &n));
    c->like.results = (int)n;
    return true;
}

static bool take_seed(reading *r, const cJSON *v)
{
    completion_request *c = r->request;
    int64_t             seed = 0;
    TRY(take_whole(r, v, -(1LL << 53), 1LL << 53, &seed));
    c->like.how.seed = (uint64_t)seed;
    c->seeded = true;
    return true;
}

static bool take_logprobs(reading *r, const cJSON *v)
{
    enum { MOST = 20 };
    completion_request *c = r->request;
    double              n = cJSON_IsNumber(v) ? v->valuedouble : -1;
    c->log_probabilities = n >= 0 && n <= MOST && n == floor(n);
    if (!c->log_probabilities)
        return wrong(r, "\"logprobs\" must be a whole number from 0 to %d: how many alternatives to "
                        "each token have their log probability, too", MOST);
    c->like.how.alternatives = (int64_t)n;
    return true;
}

static bool take_stop(reading *r, const cJSON *v)
{
    completion_request *c = r->request;
    bool                list = cJSON_IsArray(v);
    int                 n = list ? cJSON_GetArraySize(v) : 1;
    if (n > MOST_STOP_STRINGS)
        return wrong(r, "\"stop\" has more than %d strings", MOST_STOP_STRINGS);
    for (int k = 0; k < n; k++) {
        const cJSON *item = list ? cJSON_GetArrayItem(v, k) : v;
        if (!cJSON_IsString(item) || !*item->valuestring)
            return wrong(r, "\"stop\" must be a string or a list of strings, none of them empty");
        c->stops[k] = item->valuestring;
    }
    return true;
}

static bool take_stream_options(reading *r, const cJSON *v)
{
    static const char   word[] = "include_usage";
    completion_request *c = r->request;
    const cJSON        *usage = cJSON_GetObjectItemCaseSensitive(v, word);
    if (!cJSON_IsObject(v) || cJSON_GetArraySize(v) != (usage != NULL))
        return wrong(r, "\"stream_options\" must be an object with \"%s\"", word);
    return !usage || take_flag(r, usage, &c->usage);
}

static bool take_unsupported(reading *r, const cJSON *v)
{
    return wrong(r, "\"%s\" is not supported here; leave it out", v->string);
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
    reading in = {why, room, r};
    *r = (completion_request){
        .like = {
            .results = 1,
            .how = {.temperature = 1, .top_p = 1, .alpha = 0.6, .max_tokens = MOST_BY_DEFAULT}}};
    r->like.stops = r->stops;
    r->root = read_object(&in, body, bytes);
    TRY(r->root && take_fields(&in, r->root, completion_fields));
    r->nothing_new = r->like.how.max_tokens == 0;
    if (!r->nprompts) return wrong(&in, "\"prompt\" is missing");
    if (r->nothing_new && !r->echo)
        return wrong(&in, "\"max_tokens\" is 0: without \"echo\" there is nothing to say");
    if (r->best_of && r->best_of != r->like.results)
        return wrong(&in,
                     "\"best_of\" is not supported here: there are as many results as \"n\" says");
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
static bool take_later(reading *r, const cJSON *v)
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
static bool repeat_prompt(reading *in, score_request *r)
{
    request_prompt first = r->prompts[0], *all = calloc((size_t)r->count, sizeof *all);
    bool           enough = true;
    if (!all) {
        free_prompts(r->prompts, 1);
        r->prompts = NULL;
        return wrong(in, "there is no memory for \"prompt\"");
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
    return enough || wrong(in, "there is no memory for \"prompt\"");
}

bool score_parse(const char *body, size_t bytes, score_request *r, char *why, size_t room)
{
    reading in = {why, room, r};
    int     prompts = 0;
    *r = (score_request){.root = read_object(&in, body, bytes)};
    TRY(r->root && take_fields(&in, r->root, score_fields));
    const cJSON *targets = cJSON_GetObjectItemCaseSensitive(r->root, "continuation");
    const cJSON *prompt = cJSON_GetObjectItemCaseSensitive(r->root, "prompt");
    if (!targets || cJSON_IsNull(targets)) return wrong(&in, "\"continuation\" is missing");
    TRY(take_prompts(&in, targets, &r->targets, &r->count));
    if (!prompt || cJSON_IsNull(prompt)) {
        r->prompts = calloc((size_t)r->count, sizeof *r->prompts);
        for (int k = 0; r->prompts && k < r->count; k++) r->prompts[k].text = "";
        return r->prompts || wrong(&in, "there is no memory for the request");
    }
    int  count = r->count;
    bool ok = take_prompts(&in, prompt, &r->prompts, &prompts);
    if (ok && prompts == count) return true;
    if (ok && prompts == 1) return repeat_prompt(&in, r);
    free_prompts(r->prompts, prompts);
    r->prompts = NULL;
    return ok ? wrong(&in, "there are %d prompts and %d continuations: one prompt, or one for each",
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
