/* Vocabularies that are lists of words, one a line.
 *
 * A file whose first lines are <pad> and <EOS> numbers its lines from 0, as tensor2tensor's do;
 * any other has its words from 3 on, after padding, end and unknown.
 */
#include <string.h>

#include "data/text/piece_table.h"
#include "data/text/vocabulary.h"

enum { RESERVED = 3 };

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static size_t line_size(const char *line, const char *end)
{
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    return (size_t)((stop ? stop : end) - line);
}

static bool line_is(const char *line, const char *end, const char *word)
{
    size_t n = line_size(line, end);
    if (n && line[n - 1] == '\r') n--;
    return n == strlen(word) && memcmp(line, word, n) == 0;
}

static bool is_numbered(const char *text, const char *end)
{
    const char *second = text + line_size(text, end) + 1;
    return second < end && line_is(text, end, "<pad>") &&
           (line_is(second, end, "<EOS>") || line_is(second, end, "</s>"));
}

static bool put_words(mtf_session *s, const char *path, char *text, size_t size, int32_t first,
                      piece_table *words)
{
    const char *end = text + size;
    int64_t     number = 0;
    for (char *at = text; at < end; number++) {
        size_t n = line_size(at, end), word = n && at[n - 1] == '\r' ? n - 1 : n;
        if (memchr(at, 0, n) || n > 1 << 20)
            return fail(&s->fault, ERR_FILE, "\"%s\", line %lld: that is not a word of a text file",
                        path, (long long)number + 1);
        if (word) piece_table_put(words, first + (int32_t)number, at, word);
        at += n + 1;
    }
    return true;
}

static bool read_words(mtf_session *s, mtf_vocabulary *v, const char *path, const char *text,
                       size_t size)
{
    int64_t      lines = 0;
    bool         numbered = is_numbered(text, text + size);
    piece_table *words = arena_new(&s->arena, piece_table);
    char        *copy = arena_copy(&s->arena, text, size + 1); /* words point into it */
    TRY(words && copy);
    for (const char *at = text; at < text + size; lines++) at += line_size(at, text + size) + 1;
    if (lines == 0) return fail(&s->fault, ERR_FILE, "\"%s\" has no words", path);
    if (lines > INT32_MAX - RESERVED)
        return fail(&s->fault, ERR_FILE, "\"%s\" has too many words", path);
    v->own = lines + (numbered ? 0 : RESERVED);
    TRY(piece_table_make(s, v->own, words));
    TRY(put_words(s, path, copy, size, numbered ? 0 : RESERVED, words));
    v->padding = 0;
    v->end = 1;
    v->unknown = numbered ? piece_table_find(words, "<unk>", 5) : 2;
    if (v->unknown < 0) v->unknown = piece_table_find(words, "UNK", 3);
    v->inside = words;
    return true;
}

static bool open_words(mtf_session *s, mtf_vocabulary *v, const char *path)
{
    size_t size;
    char  *text = vocabulary_file(s, path, &size);
    bool   ok = text && read_words(s, v, path, text, size);
    block_free(&s->allocator, text);
    return ok;
}

static bool encode(const mtf_vocabulary *v, const char *text, size_t n, id_list *out)
{
    const char *end = text + n;
    for (const char *at = text; at < end;) {
        const char *begin = at;
        while (at < end && !is_blank(*at)) at++;
        if (at > begin) {
            int32_t id = piece_table_find(v->inside, begin, (size_t)(at - begin));
            if (id < 0) id = v->unknown;
            if (id < 0)
                return fail(out->why, ERR_VALUE,
                            "the vocabulary \"%s\" has neither \"%.*s\" nor a word <unk> for such",
                            v->spec, at - begin < 80 ? (int)(at - begin) : 80, begin);
            TRY(ids_add(out, id));
        }
        at++;
    }
    return true;
}

static bool decode(const mtf_vocabulary *v, int32_t id, mtf_text_stream *t)
{
    const piece_table *words = v->inside;
    const text_piece  *p = &words->pieces[id];
    bool               unknown = id == v->unknown && !p->bytes;
    if (t->begun) TRY(bytes_add(&t->raw, " ", 1));
    t->begun = true;
    return bytes_add(&t->raw, unknown ? "<unk>" : p->bytes, unknown ? 5 : (size_t)p->size);
}

const vocabulary_kind vocabulary_words = {
    .name = "words", .place = "FILE", .open = open_words, .encode = encode, .decode = decode};
