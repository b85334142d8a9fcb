/* Vocabularies of subwords, as tensor2tensor makes them.
 *
 * A text is split into runs of letters and digits and runs of other characters, its tokens; a token
 * " " between two others is left out.  Each token is escaped, "_" is put after it, and the longest
 * subwords that fit spell it from its beginning on.
 *
 *     \\  a backslash      \u  an underscore      \233;  a character that no subword has
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/text/piece_table.h"
#include "data/text/splitter.h"
#include "data/text/vocabulary.h"

enum { CHARACTERS = 0x110000 };

typedef struct subwords {
    piece_table pieces;
    uint8_t    *alphabet; /* a bit for each character */
    splitter   *alnum;
} subwords;

/* ---- opening ---- */

static bool in_alphabet(const subwords *w, uint32_t c)
{
    return w->alphabet[c / 8] >> (c % 8) & 1;
}

static void add_alphabet(subwords *w, const char *text, size_t n)
{
    size_t   taken;
    uint32_t c;
    for (size_t at = 0; at < n; at += taken)
        if (utf8_take(text + at, n - at, &taken, &c) == UTF8_CHARACTER)
            w->alphabet[c / 8] |= (uint8_t)(1 << (c % 8));
}

static bool put_line(mtf_session *s, const char *path, subwords *w, int32_t id, const char *line,
                     size_t n)
{
    while (n && (line[n - 1] == '\r' || line[n - 1] == ' ')) n--;
    if (n >= 2 && line[0] == line[n - 1] && (line[0] == '\'' || line[0] == '"')) line++, n -= 2;
    if (memchr(line, 0, n) || n > 1 << 16)
        return fail(&s->fault, ERR_FILE, "\"%s\", line %d: that is not a subword of a text file",
                    path, id + 1);
    if (n) piece_table_put(&w->pieces, id, line, n);
    add_alphabet(w, line, n);
    return true;
}

static bool read_subwords(mtf_session *s, mtf_vocabulary *v, const char *path, const char *text,
                          size_t size)
{
    subwords   *w = arena_new(&s->arena, subwords);
    const char *copy = arena_copy(&s->arena, text, size + 1); /* subwords point into it */
    TRY(w && copy);
    for (size_t i = 0; i < size; i++) v->own += copy[i] == '\n';
    v->own += size && copy[size - 1] != '\n';
    if (v->own == 0 || v->own > INT32_MAX)
        return fail(&s->fault, ERR_FILE, "\"%s\" has %s subwords", path,
                    v->own ? "too many" : "no");
    TRY((w->alphabet = arena_alloc(&s->arena, CHARACTERS / 8)) != NULL);
    TRY(piece_table_make(s, v->own, &w->pieces));
    const char *at = copy, *end = copy + size;
    for (int32_t id = 0; id < v->own; id++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        TRY(put_line(s, path, w, id, at, (size_t)(stop - at)));
        at = stop + 1;
    }
    add_alphabet(w, "\\_u;0123456789", 14);
    v->inside = w;
    v->padding = 0;
    v->end = 1;
    return true;
}

static bool open_subwords(mtf_session *s, mtf_vocabulary *v, const char *path)
{
    splitter *alnum = splitter_open(s, "[\\p{L}\\p{N}]+", v->spec);
    size_t    size;
    TRY(alnum != NULL);
    char *text = vocabulary_file(s, path, &size);
    bool  ok = text && read_subwords(s, v, path, text, size);
    block_free(&s->allocator, text);
    if (ok) ((subwords *)v->inside)->alnum = alnum;
    return ok;
}

/* ---- encoding ---- */

typedef struct encoding {
    const mtf_vocabulary *vocabulary;
    const char           *begin, *end; /* of the text */
    byte_list             escaped;     /* a token */
    id_list              *out;
} encoding;

static bool escape(encoding *e, const char *token, size_t n)
{
    const subwords *w = e->vocabulary->inside;
    size_t          taken;
    uint32_t        c;
    e->escaped.count = 0;
    for (size_t at = 0; at < n; at += taken) {
        char number[20];
        utf8_take(token + at, n - at, &taken, &c);
        if (c == '\\')
            TRY(bytes_add(&e->escaped, "\\\\", 2));
        else if (c == '_')
            TRY(bytes_add(&e->escaped, "\\u", 2));
        else if (c != '\n' && in_alphabet(w, c))
            TRY(bytes_add(&e->escaped, token + at, taken));
        else
            TRY(bytes_add(&e->escaped, number, (size_t)sprintf(number, "\\%u;", (unsigned)c)));
    }
    return bytes_add(&e->escaped, "_", 1);
}

static bool encode_token(encoding *e, const char *token, size_t n)
{
    const subwords *w = e->vocabulary->inside;
    TRY(escape(e, token, n));
    const char *at = e->escaped.bytes, *end = at + e->escaped.count;
    while (at < end) {
        int32_t id = -1;
        size_t  size = (size_t)(end - at);
        if (size > (size_t)w->pieces.longest) size = (size_t)w->pieces.longest;
        for (; size && id < 0; size--) id = piece_table_find(&w->pieces, at, size);
        if (id < 0)
            return fail(e->out->why, ERR_VALUE,
                        "the vocabulary \"%s\" has no subword that \"%.40s\" begins with",
                        e->vocabulary->spec, at);
        TRY(ids_add(e->out, id));
        at += size + 1;
    }
    return true;
}

static bool visit_token(void *context, const char *token, size_t n, bool alnum)
{
    encoding *e = context;
    bool      inside = token > e->begin && token + n < e->end;
    if (!alnum && n == 1 && *token == ' ' && inside) return true;
    return encode_token(e, token, n);
}

static bool encode(const mtf_vocabulary *v, const char *text, size_t n, id_list *out)
{
    const subwords *w = v->inside;
    byte_list       none = {.from = out->from, .why = out->why}, mended = none;
    TRY(text_mend(text, n, &mended));
    if (mended.count) text = mended.bytes, n = (size_t)mended.count;
    encoding e = {v, text, text + n, none, out};
    bool     ok = splitter_split(w->alnum, text, n, visit_token, &e, out->why);
    block_free(out->from, e.escaped.bytes);
    block_free(out->from, mended.bytes);
    return ok;
}

/* ---- decoding ---- */

static bool note_alnum(void *context, const char *stretch, size_t n, bool matched)
{
    (void)stretch, (void)n;
    *(bool *)context = matched;
    return false;
}

/* A number between a backslash and a semicolon; 0x3013 replaces an invalid one. */
static size_t unescape_number(const char *at, const char *end, uint32_t *c)
{
    const char *digits = at + 1, *stop = digits;
    uint64_t    number = 0;
    while (stop < end && *stop >= '0' && *stop <= '9') {
        if (number < CHARACTERS) number = number * 10 + (uint64_t)(*stop - '0');
        stop++;
    }
    if (stop == digits || stop == end || *stop != ';') return 0;
    *c = number >= CHARACTERS || (number >= 0xd800 && number < 0xe000) ? 0x3013 : (uint32_t)number;
    return (size_t)(stop + 1 - at);
}

static bool unescape(mtf_text_stream *t, byte_list *plain)
{
    const char *at = t->token.bytes, *end = at + t->token.count;
    while (at < end) {
        char     bytes[4];
        uint32_t c;
        size_t   n = *at == '\\' ? unescape_number(at, end, &c) : 0;
        if (n) {
            TRY(bytes_add(plain, bytes, utf8_put(c, bytes)));
        } else if (*at == '\\' && at + 1 < end && (at[1] == 'u' || at[1] == '\\')) {
            TRY(bytes_add(plain, at[1] == 'u' ? "_" : "\\", 1));
            n = 2;
        } else {
            TRY(bytes_add(plain, at, 1));
            n = 1;
        }
        at += n;
    }
    return true;
}

/* Writes a finished token, after a space where it and the last one are letters and digits. */
static bool give_token(const mtf_vocabulary *v, mtf_text_stream *t)
{
    const subwords *w = v->inside;
    byte_list       plain = {.from = t->raw.from, .why = t->raw.why};
    bool            alnum = false, ok = unescape(t, &plain);
    t->token.count = 0;
    if (ok && plain.count) {
        splitter_split(w->alnum, plain.bytes, (size_t)plain.count, note_alnum, &alnum, &t->why);
        if (t->begun && t->alnum && alnum) ok = bytes_add(&t->raw, " ", 1);
        ok = ok && bytes_add(&t->raw, plain.bytes, (size_t)plain.count);
        t->begun = true;
        t->alnum = alnum;
    }
    block_free(plain.from, plain.bytes);
    return ok;
}

static bool decode(const mtf_vocabulary *v, int32_t id, mtf_text_stream *t)
{
    const subwords   *w = v->inside;
    const text_piece *p = &w->pieces.pieces[id];
    for (const char *at = p->bytes, *end = at + p->size; at < end;) {
        const char *stop = memchr(at, '_', (size_t)(end - at));
        TRY(bytes_add(&t->token, at, (size_t)((stop ? stop : end) - at)));
        if (stop) TRY(give_token(v, t));
        at = stop ? stop + 1 : end;
    }
    return true;
}

static bool finish_token(const mtf_vocabulary *v, mtf_text_stream *t)
{
    return t->token.count == 0 || give_token(v, t);
}

const vocabulary_kind vocabulary_subwords = {.name = "subwords",
                                             .place = "FILE",
                                             .open = open_subwords,
                                             .encode = encode,
                                             .decode = decode,
                                             .finish = finish_token};
