/* GPT-2's vocabulary: byte pairs from vocab.json and merges.txt.
 *
 * The files write each byte as a printable character: 33 to 126, 161 to 172 and 174 to 255
 * are themselves, the others are 256 and following, in their order.  A text is split into words by
 * GPT-2's pattern, and the pairs of a word's bytes are merged in the order of merges.txt.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/text/byte_pairs.h"
#include "data/text/piece_table.h"
#include "data/text/splitter.h"
#include "data/text/vocabulary.h"

/* PCRE2's \s has one character more than Unicode's white space. */
#define SPACES                                                                                     \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"    \
    "\\x{205f}\\x{3000}"
static const char pattern[] = "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^" SPACES
                              "\\p{L}\\p{N}]+|[" SPACES "]+(?![^" SPACES "])|[" SPACES "]+";
static const char end_name[] = "<|endoftext|>";

enum { SEEN = 256 + 68, MOST_IDS = 1 << 24 };

typedef struct gpt2 {
    piece_table pieces; /* as bytes, not as they are written */
    pair_table  merges;
    int32_t     of_byte[256];
    splitter   *words;
} gpt2;

/* A file, and the byte that each character represents. */
typedef struct reading {
    mtf_session *session;
    gpt2        *to;
    char         path[4096];
    uint8_t      byte_of[SEEN];
} reading;

/* ---- bytes as characters ---- */

static void fill_bytes(reading *r)
{
    int more = 256;
    for (int b = 0; b < 256; b++) {
        bool seen = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        r->byte_of[seen ? b : more++] = (uint8_t)b;
    }
}

static bool is_seen(uint32_t c)
{
    return c >= 256 ? c < SEEN : (c >= 33 && c <= 126) || (c >= 161 && c <= 172) || c >= 174;
}

/* The bytes that a piece represents, in the arena; the piece itself where it has other
 * characters. */
static const char *to_bytes(const reading *r, const char *text, size_t n, size_t *size)
{
    char    *bytes = arena_alloc(&r->session->arena, n + 1);
    size_t   taken;
    uint32_t c;
    *size = 0;
    if (!bytes) return NULL;
    for (size_t at = 0; at < n; at += taken) {
        if (utf8_take(text + at, n - at, &taken, &c) != UTF8_CHARACTER || !is_seen(c)) {
            *size = n;
            return memcpy(bytes, text, n);
        }
        bytes[(*size)++] = (char)r->byte_of[c];
    }
    return bytes;
}

/* ---- vocab.json ---- */

static bool damaged(const reading *r, const char *what, const char *name)
{
    return fail(&r->session->fault, ERR_FILE, "\"%s\" %s \"%.80s\"", r->path, what, name);
}

static bool read_pieces(reading *r, mtf_vocabulary *v, const cJSON *object)
{
    fault  *why = &r->session->fault;
    int64_t largest = -1, count = 0;
    for (const cJSON *e = object->child; e; e = e->next, count++) {
        double id = cJSON_IsNumber(e) ? e->valuedouble : -1;
        if (id < 0 || id >= MOST_IDS || id != floor(id))
            return damaged(r, "has no number from 0 on as the id of", e->string);
        if (id > (double)largest) largest = (int64_t)id;
    }
    if (largest + 1 != count)
        return fail(why, ERR_FILE, "\"%s\" has %lld pieces, but ids up to %lld", r->path,
                    (long long)count, (long long)largest);
    v->own = count;
    TRY(piece_table_make(r->session, count, &r->to->pieces));
    for (const cJSON *e = object->child; e; e = e->next) {
        size_t      size;
        const char *bytes = to_bytes(r, e->string, strlen(e->string), &size);
        int32_t     id = (int32_t)e->valuedouble;
        TRY(bytes != NULL);
        if (r->to->pieces.pieces[id].bytes)
            return damaged(r, "gives a second piece the id of", e->string);
        if (!piece_table_put(&r->to->pieces, id, bytes, size))
            return damaged(r, "has two ids for", e->string);
    }
    return true;
}

static bool check_pieces(reading *r, mtf_vocabulary *v)
{
    for (int b = 0; b < 256; b++) {
        char byte = (char)b;
        r->to->of_byte[b] = piece_table_find(&r->to->pieces, &byte, 1);
        if (r->to->of_byte[b] < 0)
            return fail(&r->session->fault, ERR_FILE,
                        "\"%s\" has no id for the byte %d; GPT-2's vocabulary has one for each",
                        r->path, b);
    }
    v->end = piece_table_find(&r->to->pieces, end_name, strlen(end_name));
    if (v->end < 0) return damaged(r, "has no id for", end_name);
    return true;
}

static bool read_vocabulary(reading *r, mtf_vocabulary *v, const char *text, size_t size)
{
    cJSON *object = memchr(text, 0, size) ? NULL : cJSON_ParseWithLength(text, size);
    bool   ok = object && cJSON_IsObject(object) && object->child;
    ok = ok ? read_pieces(r, v, object) && check_pieces(r, v)
            : fail(&r->session->fault, ERR_FILE,
                   "\"%s\" is not a JSON object that gives pieces of text their ids", r->path);
    cJSON_Delete(object);
    return ok;
}

/* ---- merges.txt ---- */

static bool read_merge(reading *r, const char *line, size_t n, int64_t number, int32_t *rank)
{
    const piece_table *pieces = &r->to->pieces;
    const char        *blank = memchr(line, ' ', n);
    size_t             sizes[2], left = blank ? (size_t)(blank - line) : 0;
    fault             *why = &r->session->fault;
    if (!blank || !left || left + 1 == n || memchr(blank + 1, ' ', n - left - 1) ||
        memchr(line, 0, n))
        return fail(why, ERR_FILE, "\"%s\", line %lld: a merge is two pieces with a space between",
                    r->path, (long long)number);
    const char *first = to_bytes(r, line, left, &sizes[0]);
    const char *second = to_bytes(r, blank + 1, n - left - 1, &sizes[1]);
    char       *joined = arena_alloc(&r->session->arena, n);
    TRY(first && second && joined);
    memcpy(joined, first, sizes[0]);
    memcpy(joined + sizes[0], second, sizes[1]);
    pair_merge m = {.left = piece_table_find(pieces, first, sizes[0]),
                    .right = piece_table_find(pieces, second, sizes[1]),
                    .merged = piece_table_find(pieces, joined, sizes[0] + sizes[1]),
                    .rank = (*rank)++};
    if (m.left < 0 || m.right < 0 || m.merged < 0)
        return fail(why, ERR_FILE,
                    "\"%s\", line %lld: \"%.*s\" merges what vocab.json has no ids for", r->path,
                    (long long)number, n < 80 ? (int)n : 80, line);
    pair_table_put(&r->to->merges, m);
    return true;
}

static bool read_merges(reading *r, const char *text, size_t size)
{
    const char *end = text + size;
    int64_t     lines = 1, number = 1;
    int32_t     rank = 0;
    for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
    TRY(pair_table_make(r->session, lines, &r->to->merges));
    for (const char *at = text; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        size_t n = (size_t)(stop - at);
        if (n && at[n - 1] == '\r') n--;
        bool comment = number == 1 && n > 8 && strncmp(at, "#version", 8) == 0;
        if (n && !comment) TRY(read_merge(r, at, n, number, &rank));
        at = stop + 1;
    }
    return true;
}

/* ---- both files ---- */

static char *open_file(reading *r, const char *folder, const char *name, size_t *size)
{
    int n = snprintf(r->path, sizeof r->path, "%s/%s", folder, name);
    if (n < (int)sizeof r->path) return vocabulary_file(r->session, r->path, size);
    fail(&r->session->fault, ERR_FILE, "\"%.80s...\" is too long for the name of a folder", folder);
    return NULL;
}

static bool open_gpt2(mtf_session *s, mtf_vocabulary *v, const char *folder)
{
    reading r = {.session = s, .to = arena_new(&s->arena, gpt2)};
    size_t  size;
    TRY(r.to && (r.to->words = splitter_open(s, pattern, v->spec)));
    v->inside = r.to;
    fill_bytes(&r);
    char *text = open_file(&r, folder, "vocab.json", &size);
    bool  ok = text && read_vocabulary(&r, v, text, size);
    block_free(&s->allocator, text);
    TRY(ok);
    text = open_file(&r, folder, "merges.txt", &size);
    ok = text && read_merges(&r, text, size);
    block_free(&s->allocator, text);
    return ok;
}

/* ---- encoding and decoding ---- */

typedef struct encoding {
    const gpt2 *by;
    id_list     bytes; /* of a word, each as its id */
    pair_room   room;
    id_list    *out;
} encoding;

static bool encode_word(void *context, const char *word, size_t n, bool matched)
{
    encoding *e = context;
    (void)matched; /* invalid bytes are words, too */
    e->bytes.count = 0;
    TRY(ids_reserve(&e->bytes, (int64_t)n));
    for (size_t i = 0; i < n; i++) e->bytes.ids[i] = e->by->of_byte[(uint8_t)word[i]];
    return pair_merge_all(&e->by->merges, e->bytes.ids, n, &e->room, e->out);
}

static bool encode(const mtf_vocabulary *v, const char *text, size_t n, id_list *out)
{
    const gpt2 *g = v->inside;
    encoding    e = {.by = g, .bytes = {.from = out->from, .why = out->why}, .out = out};
    bool        ok = splitter_split(g->words, text, n, encode_word, &e, out->why);
    ids_free(&e.bytes);
    pair_room_free(out->from, &e.room);
    return ok;
}

static bool decode(const mtf_vocabulary *v, int32_t id, mtf_text_stream *t)
{
    const gpt2       *g = v->inside;
    const text_piece *p = &g->pieces.pieces[id];
    return bytes_add(&t->raw, p->bytes, (size_t)p->size);
}

const vocabulary_kind vocabulary_gpt2 = {
    .name = "gpt2", .place = "DIR", .open = open_gpt2, .encode = encode, .decode = decode};
