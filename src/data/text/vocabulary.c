/* Vocabularies: text to ids and back. */
#include "data/text/vocabulary.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/input_file.h"

static const vocabulary_kind *const kinds[] = {&vocabulary_bytes,    &vocabulary_sentencepiece,
                                               &vocabulary_gpt2,     &vocabulary_wordpiece,
                                               &vocabulary_subwords, &vocabulary_words};
enum { KINDS = sizeof kinds / sizeof *kinds, MOST_EXTRA = 1 << 20 };

/* ---- opening ---- */

char *vocabulary_file(mtf_session *s, const char *path, size_t *size)
{
    input_files files = {.session = s};
    input_file *f = input_open(&files, path);
    char       *text = f ? block_alloc(&s->allocator, &s->fault, f->size + 1, false) : NULL;
    if (text) {
        memcpy(text, f->bytes, f->size);
        text[f->size] = 0;
        *size = f->size;
    }
    input_close(&files);
    return text;
}

static bool unknown_kind(mtf_session *s, const char *spec, const char *name)
{
    nearest near = {.wanted = name};
    char    hint[100];
    for (int i = 0; i < KINDS; i++) nearest_offer(&near, kinds[i]->name);
    return fail(&s->fault, ERR_USAGE,
                "the vocabulary \"%s\" is none of bytes, sentencepiece:FILE, gpt2:DIR, "
                "wordpiece:FILE, subwords:FILE and words:FILE%s",
                spec, nearest_hint(&near, hint, sizeof hint));
}

/* Removes ":extra=N" from the end. */
static bool take_extra(mtf_session *s, char *text, int64_t *extra)
{
    char *at = NULL;
    for (char *next = text; (next = strstr(next, ":extra=")); next++) at = next;
    if (!at) return true;
    char *digits = at + strlen(":extra="), *end;
    *extra = strtoll(digits, &end, 10);
    if (!isdigit((unsigned char)*digits) || *end || *extra > MOST_EXTRA)
        return fail(&s->fault, ERR_USAGE,
                    "the vocabulary \"%s\" should end in :extra=N, a number of ids up to %d", text,
                    MOST_EXTRA);
    *at = 0;
    return true;
}

static bool open_vocabulary(mtf_session *s, const char *spec, mtf_vocabulary *v)
{
    char *name = arena_text(&s->arena, spec);
    TRY(name && (v->spec = arena_text(&s->arena, spec)));
    TRY(take_extra(s, name, &v->extra));
    char *colon = strchr(name, ':'), *place = colon ? colon + 1 : NULL;
    if (colon) *colon = 0;
    for (int i = 0; i < KINDS && !v->kind; i++)
        if (strcmp(kinds[i]->name, name) == 0) v->kind = kinds[i];
    if (!v->kind) return unknown_kind(s, spec, name);
    if (!v->kind->place != !(place && *place))
        return fail(&s->fault, ERR_USAGE, "the vocabulary \"%s\" should be %s%s%s", spec, name,
                    v->kind->place ? ":" : "", v->kind->place ? v->kind->place : "");
    TRY(v->kind->open(s, v, place));
    if (v->own > INT_MAX - v->extra)
        return fail(&s->fault, ERR_FILE, "the vocabulary \"%s\" has too many ids", spec);
    return true;
}

mtf_vocabulary *mtf_vocabulary_open(mtf_session *s, const char *spec)
{
    if (!s || !mtf_ok(s)) return NULL;
    mtf_vocabulary *v = arena_new(&s->arena, mtf_vocabulary);
    if (!v) return NULL;
    *v = (mtf_vocabulary){.session = s, .padding = -1, .end = -1, .unknown = -1};
    return open_vocabulary(s, spec && *spec ? spec : "bytes", v) ? v : NULL;
}

/* ---- ids ---- */

int64_t mtf_vocabulary_size(const mtf_vocabulary *v)
{
    return v ? v->own + v->extra : 0;
}

int32_t mtf_vocabulary_padding(const mtf_vocabulary *v)
{
    return v ? v->padding : -1;
}

int32_t mtf_vocabulary_end(const mtf_vocabulary *v)
{
    return v ? v->end : -1;
}

int32_t mtf_vocabulary_unknown(const mtf_vocabulary *v)
{
    return v ? v->unknown : -1;
}

int32_t mtf_vocabulary_sentinel(const mtf_vocabulary *v, int64_t k)
{
    return v && k >= 0 && k < v->extra ? (int32_t)(v->own + v->extra - 1 - k) : -1;
}

/* ---- encoding ---- */

bool vocabulary_encode(const mtf_vocabulary *v, const char *text, size_t n, id_list *out)
{
    return v->kind->encode(v, text, n, out);
}

int64_t mtf_vocabulary_encode(const mtf_vocabulary *v, const char *text, int64_t bytes,
                              int32_t *ids, int64_t room)
{
    if (!v || !text || !mtf_ok(v->session)) return -1;
    id_list list = {.from = &v->session->allocator, .why = &v->session->fault};
    bool    ok = vocabulary_encode(v, text, bytes < 0 ? strlen(text) : (size_t)bytes, &list);
    int64_t count = ok ? list.count : -1, copied = count < room ? count : room;
    if (copied > 0) memcpy(ids, list.ids, (size_t)copied * sizeof *ids);
    ids_free(&list);
    return count;
}
