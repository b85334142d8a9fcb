/* Files of words, one a line. */
#include "data/text/word_list.h"

#include <string.h>

enum { LONGEST_WORD = 1 << 20 };

size_t word_list_line(const char *line, const char *end)
{
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    return (size_t)((stop ? stop : end) - line);
}

static bool put_words(mtf_session *s, const char *path, const char *text, size_t size,
                      int32_t first, piece_table *words)
{
    const char *end = text + size;
    int64_t     number = 0;
    for (const char *at = text; at < end; number++) {
        size_t n = word_list_line(at, end), word = n && at[n - 1] == '\r' ? n - 1 : n;
        if (memchr(at, 0, n) || n > LONGEST_WORD)
            return fail(&s->fault, ERR_FILE, "\"%s\", line %lld: that is not a word of a text file",
                        path, (long long)number + 1);
        if (word) piece_table_put(words, first + (int32_t)number, at, word);
        at += n + 1;
    }
    return true;
}

bool word_list_read(mtf_session *s, const char *path, const char *text, size_t size, int32_t first,
                    piece_table *words)
{
    int64_t lines = 0;
    char   *copy = arena_copy(&s->arena, text, size + 1); /* words point into it */
    TRY(copy != NULL);
    for (const char *at = text; at < text + size; lines++)
        at += word_list_line(at, text + size) + 1;
    if (lines == 0) return fail(&s->fault, ERR_FILE, "\"%s\" has no words", path);
    if (lines > INT32_MAX - first)
        return fail(&s->fault, ERR_FILE, "\"%s\" has too many words", path);
    return piece_table_make(s, first + lines, words) &&
           put_words(s, path, copy, size, first, words);
}
