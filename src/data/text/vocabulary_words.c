/* Vocabularies that are lists of words, one a line.
 *
 * A file whose first lines are <pad> and <EOS> numbers its lines from 0, as tensor2tensor's do;
 * any other has its words from 3 on, after padding, end and unknown.
 */
#include <string.h>

#include "data/text/vocabulary.h"
#include "data/text/word_list.h"

enum { RESERVED = 3 };

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool line_is(const char *line, const char *end, const char *word)
{
    size_t n = word_list_line(line, end);
    if (n && line[n - 1] == '\r') n--;
    return n == strlen(word) && memcmp(line, word, n) == 0;
}

static bool is_numbered(const char *text, const char *end)
{
    const char *second = text + word_list_line(text, end) + 1;
    return second < end && line_is(text, end, "<pad>") &&
           (line_is(second, end, "<EOS>") || line_is(second, end, "</s>"));
}

static bool read_words(mtf_session *s, mtf_vocabulary *v, const char *path, const char *text,
                       size_t size)
{
    bool         numbered = is_numbered(text, text + size);
    piece_table *words = arena_new(&s->arena, piece_table);
    TRY(words && word_list_read(s, path, text, size, numbered ? 0 : RESERVED, words));
    v->own = words->count;
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
