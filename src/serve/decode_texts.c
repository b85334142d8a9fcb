/* Decodes answers to a list of prompts. */
#include "serve/decode_texts.h"

#include "serve/line_reader.h"

#include <stdlib.h>
#include <string.h>

struct text_decoder {
    const opened_model *model;
    engine             *engine;
    request_spec        like;
    char              **texts;
    int64_t             count;
};

/* Prompts that are asked at a time. */
enum { AT_ONCE = 1024 };

static void forget_texts(text_decoder *d)
{
    for (int64_t k = 0; k < d->count; k++) free(d->texts[k]);
    free(d->texts);
    d->texts = NULL;
    d->count = 0;
}

text_decoder *text_decoder_new(const opened_model *m, const engine_opts *limits,
                               const request_spec *like)
{
    text_decoder *d = arena_new(&m->session->arena, text_decoder);
    if (!d) return NULL;
    engine_opts all = *limits;
    all.max_waiting = AT_ONCE;
    *d = (text_decoder){.model = m, .like = *like, .engine = engine_open(m, &all)};
    d->like.results = 1;
    return d->engine ? d : NULL;
}

void text_decoder_free(text_decoder *d)
{
    if (!d) return;
    forget_texts(d);
    engine_close(d->engine);
}

/* Cuts a prompt that is too long, but keeps its end token. */
static void cut(const text_decoder *d, id_list *ids)
{
    int64_t most = model_max_prompt(d->model);
    int32_t end = mtf_vocabulary_end(d->model->vocabulary);
    if (ids->count <= most) return;
    bool ended = end >= 0 && ids->ids[ids->count - 1] == end;
    ids->count = most;
    if (ended && most > 0) ids->ids[most - 1] = end;
}

static request *ask(text_decoder *d, const char *prompt)
{
    mtf_session *s = d->model->session;
    id_list      ids = model_ids(&s->fault);
    request_spec q = d->like;
    refusal      why;
    request     *x = NULL;
    if (model_encode_prompt(d->model, prompt, strlen(prompt), &ids)) {
        static const int32_t none[1] = {0};
        cut(d, &ids);
        q.ids = ids.count ? ids.ids : none;
        q.nids = ids.count;
        q.complete = true;
        x = engine_submit(d->engine, &q, &why);
        if (!x) fail(&s->fault, ERR_VALUE, "%s", why.text);
    }
    ids_free(&ids);
    return x;
}

/* The whole text of a request, on one line. */
static bool collect(text_decoder *d, request *x, char **text)
{
    fault        *why = &d->model->session->fault;
    byte_list     all = {.why = NULL};
    request_piece p = {.end = FINISH_NOT_YET};
    bool          ok = bytes_add(&all, "", 0);
    while (ok && request_next(x, 0, &p) && p.end != FINISH_FAILED)
        ok = bytes_add(&all, p.text, strlen(p.text));
    if (!ok) fail(why, ERR_MEMORY, "no memory for an answer");
    if (ok && p.end == FINISH_FAILED) ok = fail(why, ERR_VALUE, "%s", p.text);
    if (!ok) {
        bytes_free(&all);
        return false;
    }
    text_on_one_line(all.bytes);
    *text = all.bytes;
    return true;
}

static bool run_some(text_decoder *d, int64_t n, const char *const *prompts, char **texts)
{
    request *asked[AT_ONCE];
    int64_t  count = 0;
    bool     ok = true;
    for (; ok && count < n; count += ok) ok = (asked[count] = ask(d, prompts[count])) != NULL;
    while (ok && !engine_idle(d->engine)) ok = engine_step(d->engine, 0);
    for (int64_t k = 0; k < count; k++) {
        ok = ok && collect(d, asked[k], &texts[k]);
        request_free(asked[k]);
    }
    return ok && engine_step(d->engine, 0); /* frees the engine */
}

bool text_decoder_run(text_decoder *d, int64_t n, const char *const *prompts,
                      const char *const **results)
{
    fault *why = &d->model->session->fault;
    forget_texts(d);
    d->texts = calloc((size_t)n + 1, sizeof *d->texts);
    if (!d->texts) return fail(why, ERR_MEMORY, "no memory for %lld answers", (long long)n);
    d->count = n;
    for (int64_t at = 0; at < n; at += AT_ONCE) {
        int64_t some = n - at < AT_ONCE ? n - at : AT_ONCE;
        TRY(run_some(d, some, prompts + at, d->texts + at));
    }
    *results = (const char *const *)d->texts;
    return true;
}
