/* Completions over HTTP: whole, or as a stream of events. */
#include "serve/http_exchange.h"

#if MTF_HAVE_MICROHTTPD
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "serve/http_echo.h"
#include "serve/serve_reply.h"

typedef struct completion {
    http_exchange      exchange; /* a copy, which outlives the caller's */
    completion_request request;
    request          **requests; /* one for each prompt; NULL where no new tokens are wanted */
    int                results;  /* of each prompt */
    int                nchoices;
    choice            *choices;
    char               id[40];
    reply_head         head;
    reply_usage        usage;
    char               failed[300];
    /* streams */
    byte_list out; /* events that are not sent yet */
    int64_t   sent;
    bool      begun, over;
} completion;

/* ---- memory ---- */

static void completion_end(void *context)
{
    completion *c = context;
    for (int k = 0; c->requests && k < c->request.nprompts; k++)
        if (c->requests[k]) request_free(c->requests[k]);
    for (int k = 0; c->choices && k < c->nchoices; k++) choice_free(&c->choices[k]);
    bytes_free(&c->out);
    free(c->requests);
    free(c->choices);
    completion_free(&c->request);
    free(c);
}

/* ---- requests ---- */

static void make_head(completion *c)
{
    uint64_t random[2] = {0, 0};
    if (getrandom(random, sizeof random, 0) != sizeof random) random[0] = (uint64_t)time(NULL);
    snprintf(c->id, sizeof c->id, "cmpl-%016llx", (unsigned long long)random[0]);
    if (!c->request.seeded) c->request.like.how.seed = random[1];
    c->head = (reply_head){.id = c->id,
                           .model = engine_model(c->exchange.engine)->name,
                           .created = (int64_t)time(NULL),
                           .log_probabilities = c->request.log_probabilities,
                           .alternatives = c->request.like.how.alternatives > 0};
}

/* All prompts are taken, or none. */
static bool ask_engine(completion *c, refusal *why)
{
    int           n = c->request.nprompts;
    request_spec *all = calloc((size_t)n, sizeof *all);
    TRY(all != NULL);
    for (int k = 0; k < n; k++) {
        const request_prompt *p = &c->request.prompts[k];
        all[k] = c->request.like;
        all[k].text = p->text, all[k].bytes = p->bytes, all[k].ids = p->ids, all[k].nids = p->nids;
        all[k].how.row = k;
    }
    bool ok = engine_submit_all(c->exchange.engine, n, all, c->requests, why);
    free(all);
    c->usage.prompt_tokens = 0;
    for (int k = 0; ok && k < n; k++)
        c->usage.prompt_tokens += request_prompt_tokens(c->requests[k]);
    return ok;
}

static bool ask(completion *c, refusal *why)
{
    int n = c->request.nprompts;
    c->results = c->request.like.results;
    if (c->results > engine_limits(c->exchange.engine)->max_results) {
        *why = (refusal){.kind = REFUSED_WRONG};
        snprintf(why->text, sizeof why->text, "\"n\" is %d; there can be %lld results", c->results,
                 (long long)engine_limits(c->exchange.engine)->max_results);
        return false;
    }
    c->nchoices = n * c->results;
    c->choices = calloc((size_t)c->nchoices, sizeof *c->choices);
    if (!c->request.nothing_new) c->requests = calloc((size_t)n, sizeof *c->requests);
    *why = (refusal){.kind = REFUSED_BUSY, .text = "there is no memory for the request"};
    TRY(c->choices && (c->requests || c->request.nothing_new));
    for (int k = 0; k < c->nchoices; k++) {
        if (!c->requests) c->choices[k].end = FINISH_LENGTH;
        TRY(choice_add_text(&c->choices[k], ""));
    }
    if (c->request.echo)
        TRY(http_echo(c->exchange.engine, &c->request, c->results, c->choices,
                      &c->usage.prompt_tokens, why));
    for (int k = 0; k < c->nchoices; k++) choice_begin(&c->choices[k]);
    return !c->requests || ask_engine(c, why);
}

/* ---- complete replies ---- */

static void take_piece(completion *c, int prompt, const request_piece *p)
{
    choice *to = &c->choices[prompt * c->results + p->result];
    c->usage.completion_tokens += p->tokens;
    if (p->end) to->end = p->end;
    bool ok = true;
    if (p->end == FINISH_FAILED) {
        snprintf(c->failed, sizeof c->failed, "%s", p->text);
    } else {
        ok = choice_add_text(to, p->text);
        if (ok && c->request.log_probabilities && p->tokens)
            ok = choice_add_token(to, p->own, p->log_probability,
                                  p->nalternatives
                                      ? reply_alternatives(engine_model(c->exchange.engine),
                                                           p->nalternatives, p->alternatives, p->id,
                                                           p->log_probability)
                                      : NULL);
        choice_settle(to);
    }
    if (!ok) snprintf(c->failed, sizeof c->failed, "there is no memory for the answer");
}

/* Waits for the complete answer; false: the client disconnected. */
static bool collect(completion *c)
{
    request_piece p;
    for (int k = 0; c->requests && k < c->request.nprompts; k++)
        while (!request_over(c->requests[k])) {
            if (request_next(c->requests[k], 0.2, &p))
                take_piece(c, k, &p);
            else if (http_hung_up(&c->exchange))
                return false;
        }
    return true;
}

static reply_choice as_reply(const choice *c, int index)
{
    return (reply_choice){.index = index,
                          .text = c->text.bytes,
                          .end = c->end,
                          .ntokens = c->certain,
                          .tokens = c->tokens,
                          .offset = c->offset};
}

/* Whether the time limit passed before the first token. */
static bool only_late(const completion *c)
{
    for (int k = 0; k < c->nchoices; k++)
        if (c->choices[k].end != FINISH_LATE) return false;
    return c->usage.completion_tokens == 0;
}

static enum MHD_Result reply_whole(http_exchange *x, completion *c)
{
    http_patience(x, true);
    bool there = collect(c);
    http_patience(x, false);
    if (!there) return MHD_NO;
    if (c->failed[0]) return http_error(x, MHD_HTTP_SERVICE_UNAVAILABLE, "%s", c->failed);
    if (only_late(c))
        return http_error(x, MHD_HTTP_SERVICE_UNAVAILABLE,
                          "there was no room for the request in the %g seconds that it may take",
                          engine_limits(x->engine)->max_seconds);
    reply_choice *list = calloc((size_t)c->nchoices, sizeof *list);
    if (!list) return MHD_NO;
    for (int k = 0; k < c->nchoices; k++) list[k] = as_reply(&c->choices[k], k);
    enum MHD_Result result =
        http_reply(x, MHD_HTTP_OK, reply_completion(&c->head, c->nchoices, list, &c->usage));
    free(list);
    return result;
}

/* ---- streams ---- */

static bool add_text_event(completion *c, const char *data)
{
    static const char before[] = "data: ", after[] = "\n\n";
    return bytes_add(&c->out, before, sizeof before - 1) &&
           bytes_add(&c->out, data, strlen(data)) && bytes_add(&c->out, after, sizeof after - 1);
}

static bool add_event(completion *c, char *json)
{
    bool ok = json && add_text_event(c, json);
    cJSON_free(json);
    return ok;
}

/* Moves a choice's new text into an event. */
static bool add_choice_event(completion *c, int index)
{
    choice      *from = &c->choices[index];
    reply_choice reply = as_reply(from, index);
    bool         ok = add_event(c, reply_completion(&c->head, 1, &reply, NULL));
    choice_forget(from);
    return ok;
}

static bool add_piece_event(completion *c, int prompt, const request_piece *p)
{
    int     index = prompt * c->results + p->result;
    choice *to = &c->choices[index];
    if (p->end == FINISH_FAILED) {
        to->end = p->end;
        return add_event(c, reply_error(MHD_HTTP_SERVICE_UNAVAILABLE, p->text));
    }
    take_piece(c, prompt, p);
    return (!*p->text && !p->end && !to->certain) || add_choice_event(c, index);
}

static bool add_last_events(completion *c)
{
    c->over = true;
    if (c->request.usage) TRY(add_event(c, reply_completion(&c->head, 0, NULL, &c->usage)));
    return add_text_event(c, "[DONE]");
}

/* Waits for something to send; false: the client disconnected, or there is no memory. */
static bool fill(completion *c)
{
    request_piece p;
    int           open = -1, nopen = 0;
    c->out.count = c->sent = 0;
    if (!c->begun) {
        c->begun = true;
        for (int k = 0; k < c->nchoices; k++)
            if (c->request.echo) TRY(add_choice_event(c, k));
        if (c->out.count) return true;
    }
    for (int k = 0; c->requests && k < c->request.nprompts; k++) {
        while (request_next(c->requests[k], 0, &p)) TRY(add_piece_event(c, k, &p));
        if (!request_over(c->requests[k])) open = k, nopen++;
    }
    if (c->out.count) return true;
    if (open < 0) return add_last_events(c);
    /* Polls several answers in rotation. */
    if (request_next(c->requests[open], nopen > 1 ? 0.01 : 0.2, &p))
        return add_piece_event(c, open, &p);
    return !http_hung_up(&c->exchange);
}

static ssize_t read_stream(void *context, uint64_t position, char *to, size_t room)
{
    completion *c = context;
    (void)position;
    while (c->sent == c->out.count) {
        if (c->over) return MHD_CONTENT_READER_END_OF_STREAM;
        http_patience(&c->exchange, true);
        bool filled = fill(c);
        http_patience(&c->exchange, false);
        if (!filled) return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    size_t n = (size_t)(c->out.count - c->sent);
    if (n > room) n = room;
    memcpy(to, c->out.bytes + c->sent, n);
    c->sent += (int64_t)n;
    return (ssize_t)n;
}

static enum MHD_Result reply_stream(http_exchange *x, completion *c)
{
    struct MHD_Response *r =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, c, completion_end);
    if (!r) {
        completion_end(c);
        return MHD_NO;
    }
    MHD_add_response_header(r, "Content-Type", "text/event-stream; charset=utf-8");
    MHD_add_response_header(r, "Cache-Control", "no-store");
    enum MHD_Result result = MHD_queue_response(x->connection, MHD_HTTP_OK, r);
    MHD_destroy_response(r);
    return result;
}

enum MHD_Result http_completions(http_exchange *x)
{
    completion *c = calloc(1, sizeof *c);
    refusal     why;
    if (!c) return MHD_NO;
    c->exchange = *x;
    enum MHD_Result     result;
    const opened_model *m = engine_model(x->engine);
    bool ok = completion_parse(x->body.bytes ? x->body.bytes : "", (size_t)x->body.count,
                               &c->request, why.text, sizeof why.text);
    if (!ok) {
        result = http_error(x, MHD_HTTP_BAD_REQUEST, "%s", why.text);
    } else if (c->request.model && strcmp(c->request.model, m->name) != 0) {
        result = http_error(x, MHD_HTTP_NOT_FOUND, "there is no model \"%.100s\"; this is \"%s\"",
                            c->request.model, m->name);
    } else {
        make_head(c);
        if (!ask(c, &why))
            result = http_refused(x, &why);
        else if (c->request.stream)
            return reply_stream(x, c);
        else
            result = reply_whole(x, c);
    }
    completion_end(c);
    return result;
}

#endif
