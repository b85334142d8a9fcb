/* Decodes ids one by one into whole characters. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "data/text/vocabulary.h"

/* ---- characters ---- */

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

bool text_mend(const char *text, size_t n, byte_list *mended)
{
    size_t   at = 0, taken;
    uint32_t character;
    while (at < n && utf8_take(text + at, n - at, &taken, &character) == UTF8_CHARACTER)
        at += taken;
    if (at == n) return true;
    TRY(bytes_add(mended, text, at));
    for (; at < n; at += taken) {
        bool valid = utf8_take(text + at, n - at, &taken, &character) == UTF8_CHARACTER;
        TRY(bytes_add(mended, valid ? text + at : replacement, valid ? taken : 3));
    }
    return true;
}

/* Moves whole characters from the raw bytes to the output. */
static bool give_characters(mtf_text_stream *t, bool last)
{
    size_t   at = 0, n = (size_t)t->raw.count, taken;
    uint32_t character;
    while (at < n) {
        const char *bytes = t->raw.bytes + at;
        utf8_state  state = utf8_take(bytes, n - at, &taken, &character);
        if (state == UTF8_INCOMPLETE && !last) break;
        TRY(state == UTF8_CHARACTER ? bytes_add(&t->out, bytes, taken)
                                    : bytes_add(&t->out, replacement, 3));
        at += taken;
    }
    if (at) memmove(t->raw.bytes, t->raw.bytes + at, n - at);
    t->raw.count -= (int64_t)at;
    return true;
}

/* ---- ids ---- */

static bool add_sentinel(mtf_text_stream *t, int64_t k)
{
    char name[40];
    int  n = snprintf(name, sizeof name, "<extra_id_%lld>", (long long)k);
    t->begun = true;
    return bytes_add(&t->raw, name, (size_t)n);
}

/* A model's table may be rounded up: ids beyond the vocabulary decode to nothing. */
static bool add_id(mtf_text_stream *t, int32_t id)
{
    const mtf_vocabulary *v = t->vocabulary;
    if (id == v->end || id == v->padding || id < 0 || id >= v->own + v->extra) return true;
    if (id >= v->own) return add_sentinel(t, v->own + v->extra - 1 - id);
    return v->kind->decode(v, id, t);
}

static bool finish_stream(mtf_text_stream *t)
{
    const mtf_vocabulary *v = t->vocabulary;
    TRY(!v->kind->finish || v->kind->finish(v, t));
    TRY(give_characters(t, true));
    t->begun = t->alnum = false;
    t->token.count = 0;
    return true;
}

/* ---- the public calls ---- */

static void start_stream(mtf_text_stream *t, const mtf_vocabulary *v)
{
    byte_list none = {.from = &v->session->allocator, .why = &t->why};
    t->vocabulary = v;
    t->raw = t->token = t->out = none;
}

static void close_stream(void *what)
{
    mtf_text_stream *t = what;
    if (t->closed) return;
    t->closed = true;
    bytes_free(&t->raw);
    bytes_free(&t->token);
    bytes_free(&t->out);
}

mtf_text_stream *mtf_text_stream_new(const mtf_vocabulary *v)
{
    if (!v || !mtf_ok(v->session)) return NULL;
    mtf_text_stream *t = arena_new(&v->session->arena, mtf_text_stream);
    if (!t) return NULL;
    start_stream(t, v);
    return session_at_close(v->session, close_stream, t) ? t : NULL;
}

void mtf_text_stream_free(mtf_text_stream *t)
{
    if (t) close_stream(t);
}

static const char *given(mtf_text_stream *t, bool ok)
{
    if (ok) return t->out.count ? t->out.bytes : "";
    fault_take(&t->vocabulary->session->fault, t->why.kind, t->why.text);
    return NULL;
}

const char *mtf_text_stream_add(mtf_text_stream *t, int32_t id)
{
    if (!t || t->closed) return NULL;
    t->out.count = 0;
    return given(t, add_id(t, id) && give_characters(t, false));
}

const char *mtf_text_stream_end(mtf_text_stream *t)
{
    if (!t || t->closed) return NULL;
    t->out.count = 0;
    return given(t, finish_stream(t));
}

int64_t vocabulary_text_bytes(const mtf_vocabulary *v, const int32_t *ids, int64_t n)
{
    mtf_text_stream t = {0};
    bool            ok = true;
    start_stream(&t, v);
    for (int64_t i = 0; ok && i < n; i++) ok = add_id(&t, ids[i]);
    ok = ok && (!v->kind->finish || v->kind->finish(v, &t));
    int64_t count = t.raw.count;
    if (!ok) fault_take(&v->session->fault, t.why.kind, t.why.text);
    close_stream(&t);
    return ok ? count : -1;
}

int64_t mtf_vocabulary_decode(const mtf_vocabulary *v, const int32_t *ids, int64_t n, char *text,
                              int64_t room)
{
    if (!v || !mtf_ok(v->session) || (n && !ids)) return -1;
    mtf_text_stream t = {0};
    bool            ok = true;
    start_stream(&t, v);
    for (int64_t i = 0; ok && i < n; i++) ok = add_id(&t, ids[i]) && give_characters(&t, false);
    ok = ok && finish_stream(&t);
    int64_t count = t.out.count, copied = count < room ? count : room - 1;
    if (ok && room > 0) {
        if (copied) memcpy(text, t.out.bytes, (size_t)copied);
        text[copied] = 0;
    }
    if (!ok) fault_take(&v->session->fault, t.why.kind, t.why.text);
    close_stream(&t);
    return ok ? count : -1;
}
