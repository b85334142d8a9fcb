/* BERT's vocabulary: a list of words and of pieces that continue a word, as "##ing".
 *
 * A text is divided at blanks, around punctuation and around each ideograph; control characters are left out.
 * Unless the vocabulary is cased, words are in lower case and without accents.  A word consists of the longest
 * pieces from its beginning on, or is unknown.
 */
#include <string.h>

#include "base/utf8.h"
#include "data/text/characters.h"
#include "data/text/vocabulary.h"
#include "data/text/word_list.h"

/* A longer word is unknown, and not even tried. */
enum { LONGEST_WORD = 200 };
static const char   more[] = "##"; /* before a piece that continues a word */
static const size_t more_size = sizeof more - 1;

typedef struct wordpiece {
    piece_table pieces;
    bool        cased;
} wordpiece;

/* ---- opening ---- */

static int32_t find_name(const wordpiece *w, const char *name)
{
    return piece_table_find(&w->pieces, name, strlen(name));
}

static bool read_pieces(mtf_session *s, mtf_vocabulary *v, const char *path, wordpiece *w)
{
    size_t size;
    char  *text = vocabulary_file(s, path, &size);
    bool   ok = text && word_list_read(s, path, text, size, 0, &w->pieces);
    block_free(&s->allocator, text);
    TRY(ok);
    v->own = w->pieces.count;
    v->padding = find_name(w, "[PAD]");
    v->end = find_name(w, "[SEP]");
    v->unknown = find_name(w, "[UNK]");
    if (v->unknown >= 0) return true;
    return fail(&s->fault, ERR_FILE,
                "\"%s\" has no line \"[UNK]\", which a list of word pieces needs for words that it "
                "cannot spell",
                path);
}

/* Removes ":cased" from the end of the path. */
static bool take_cased(char *path)
{
    char *colon = strrchr(path, ':');
    bool  cased = colon && strcmp(colon, ":cased") == 0;
    if (cased) *colon = 0;
    return cased;
}

static bool open_wordpiece(mtf_session *s, mtf_vocabulary *v, const char *place)
{
    wordpiece *w = arena_new(&s->arena, wordpiece);
    char      *path = arena_text(&s->arena, place);
    TRY(w && path);
    w->cased = take_cased(path);
    v->inside = w;
    return read_pieces(s, v, path, w);
}

int32_t word_piece_id(const mtf_vocabulary *v, const char *piece)
{
    return v->kind == &vocabulary_wordpiece ? find_name(v->inside, piece) : -1;
}

/* ---- pieces of a word ---- */

typedef struct encoding {
    const mtf_vocabulary *vocabulary;
    const wordpiece      *w;
    id_list              *out;
    byte_list             word;   /* room for "##", then characters between punctuation */
    int64_t               length; /* how many characters */
    /* Where the bytes of ids, and of `word`, begin and end in the text: two numbers for each.  `places` NULL:
     * that is not wanted. */
    id_list *places;
    id_list  word_places;
    int32_t  begins, ends; /* the character that is taken */
} encoding;

/* ---- places ---- */

/* Of `n` bytes more of the word. */
static bool note_bytes(encoding *e, size_t n)
{
    for (; e->places && n > 0; n--)
        TRY(ids_add(&e->word_places, e->begins) && ids_add(&e->word_places, e->ends));
    return true;
}

/* Of an id that stands for bytes `from` to `to` of the word. */
static bool note_id(encoding *e, int64_t from, int64_t to)
{
    const int32_t *at = e->word_places.ids;
    return !e->places || (ids_add(e->places, at[2 * from]) && ids_add(e->places, at[2 * to - 1]));
}

/* An accent belongs to what it stands on, though it is left out. */
static void note_mark(encoding *e)
{
    if (e->places && e->length) e->word_places.ids[e->word_places.count - 1] = e->ends;
}

/* ---- words ---- */

/* How many bytes of n the longest piece takes that begins there, and its id; 0: there is none. */
static size_t longest_piece(const piece_table *t, const char *at, size_t n, size_t least,
                            int32_t *id)
{
    size_t size = n > (size_t)t->longest ? (size_t)t->longest : n;
    for (; size > least; size--)
        if ((size == n || utf8_begins(at[size])) && (*id = piece_table_find(t, at, size)) >= 0)
            return size;
    return 0;
}

static bool add_pieces(encoding *e)
{
    char  *at = e->word.bytes + more_size, *end = e->word.bytes + e->word.count;
    size_t begun = 0;
    while (at < end) {
        int32_t id;
        /* What was read before is no longer needed. */
        memcpy(at - begun, more, begun);
        size_t size =
            longest_piece(&e->w->pieces, at - begun, (size_t)(end - at) + begun, begun, &id);
        if (!size) return false;
        int64_t from = at - e->word.bytes, to = from + (int64_t)(size - begun);
        if (!ids_add(e->out, id) || !note_id(e, from, to)) return false;
        at += size - begun;
        begun = more_size;
    }
    return true;
}

static bool end_word(encoding *e)
{
    int64_t before = e->out->count, size = e->word.count;
    bool    some = e->length > 0, ok = e->length <= LONGEST_WORD && add_pieces(e);
    e->length = e->word.count = e->word_places.count = 0;
    if (!some || ok) return true;
    TRY(!e->out->why->kind);
    e->out->count = before;
    if (e->places) e->places->count = 2 * before;
    return ids_add(e->out, e->vocabulary->unknown) && note_id(e, (int64_t)more_size, size);
}

static bool add_to_word(encoding *e, uint32_t c)
{
    char   bytes[UTF8_MOST];
    size_t n = utf8_put(c, bytes);
    if (e->length++ == 0) TRY(bytes_add(&e->word, more, more_size) && note_bytes(e, more_size));
    return bytes_add(&e->word, bytes, n) && note_bytes(e, n);
}

/* A character as it is to be found in the vocabulary. */
static bool add_character(encoding *e, uint32_t c)
{
    if (character_class_of(c) != CHARACTER_PUNCTUATION) return add_to_word(e, c);
    return end_word(e) && add_to_word(e, c) && end_word(e);
}

/* A character that is part of the text. */
static bool add_folded(encoding *e, uint32_t c)
{
    uint32_t folded[CHARACTER_FOLDS] = {c};
    int      n = e->w->cased ? 1 : character_fold(c, folded);
    for (int i = 0; i < n; i++) TRY(add_character(e, folded[i]));
    if (n == 0) note_mark(e);
    return true;
}

static bool take_character(encoding *e, uint32_t c)
{
    character_class class = character_class_of(c);
    if (class == CHARACTER_REMOVED) return true;
    if (class == CHARACTER_SPACE) return end_word(e);
    if (!character_is_ideograph(c)) return add_folded(e, c);
    return end_word(e) && add_folded(e, c) && end_word(e);
}

static bool take_text(encoding *e, const char *text, size_t n)
{
    size_t   taken;
    uint32_t c;
    for (size_t at = 0; at < n; at += taken) {
        if (utf8_take(text + at, n - at, &taken, &c) != UTF8_CHARACTER) continue;
        e->begins = (int32_t)at;
        e->ends = (int32_t)(at + taken);
        TRY(take_character(e, c));
    }
    return end_word(e);
}

static bool encode_with(const mtf_vocabulary *v, const char *text, size_t n, id_list *out,
                        id_list *places)
{
    encoding e = {v, v->inside, out, .word = {.from = out->from, .why = out->why}};
    e.places = places;
    e.word_places = (id_list){.from = out->from, .why = out->why};
    bool ok = take_text(&e, text, n);
    bytes_free(&e.word);
    ids_free(&e.word_places);
    return ok;
}

static bool encode(const mtf_vocabulary *v, const char *text, size_t n, id_list *out)
{
    return encode_with(v, text, n, out, NULL);
}

bool word_pieces_placed(const mtf_vocabulary *v, const char *text, size_t n, id_list *out,
                        id_list *places)
{
    return n <= INT32_MAX ? encode_with(v, text, n, out, places)
                          : fail(out->why, ERR_FILE,
                                 "a text of %lld bytes is too long to answer from", (long long)n);
}

/* ---- decoding ---- */

static bool decode(const mtf_vocabulary *v, int32_t id, mtf_text_stream *t)
{
    const wordpiece  *w = v->inside;
    const text_piece *p = &w->pieces.pieces[id];
    size_t            size = (size_t)p->size;
    bool goes_on = t->begun && size >= more_size && memcmp(p->bytes, more, more_size) == 0;
    if (goes_on) return bytes_add(&t->raw, p->bytes + more_size, size - more_size);
    if (t->begun) TRY(bytes_add(&t->raw, " ", 1));
    t->begun = true;
    return bytes_add(&t->raw, size ? p->bytes : "", size);
}

const vocabulary_kind vocabulary_wordpiece = {.name = "wordpiece",
                                              .place = "FILE",
                                              .open = open_wordpiece,
                                              .encode = encode,
                                              .decode = decode};
