/* Plain text: one example per line. */
#include <stdio.h>
#include <string.h>

#include "data/format.h"

/* The line after the one at `at`; beyond the end: there is none. */
static const char *next_line(const input_file *f, const char *at)
{
    const char *end = (const char *)f->bytes + f->size;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    return stop ? stop + 1 : end;
}

bool lines_index(mtf_session *s, input_file *f)
{
    const char *bytes = (const char *)f->bytes, *end = bytes + f->size, *at;
    int64_t     count = 0, passed = 0, k = 0;
    if (f->lines.at) return true;
    for (at = bytes; at < end; at = next_line(f, at), count++) input_passed(f, at - bytes, &passed);
    TRY(input_index(s, &f->lines, count));
    for (at = bytes, passed = 0; at < end; at = next_line(f, at), k++) {
        index_put(&f->lines, k, at - bytes);
        input_passed(f, at - bytes, &passed);
    }
    return true;
}

const char *lines_at(const input_file *f, int64_t k, int64_t *length)
{
    const char *line = (const char *)f->bytes + f->lines.at[k / INDEX_STRIDE];
    const char *end = (const char *)f->bytes + f->size;
    for (int64_t i = k % INDEX_STRIDE; i > 0; i--) line = next_line(f, line);
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    *length = (stop ? stop : end) - line;
    if (*length && line[*length - 1] == '\r') --*length;
    return line;
}

int64_t lines_number(const input_file *f, const char *at)
{
    int64_t     number = 1;
    const char *begin = (const char *)f->bytes;
    while ((begin = memchr(begin, '\n', (size_t)(at - begin))) != NULL) number++, begin++;
    return number;
}

static bool open_text(mtf_session *s, field *f, shard *part)
{
    TRY(lines_index(s, part->file));
    f->elements = f->as.length;
    part->count = part->file->lines.count;
    return true;
}

static bool read_text(const field *f, const shard *part, int64_t k, wanted *w, fault *why)
{
    int64_t     length;
    const char *line = lines_at(part->file, k, &length);
    (void)f, (void)why; /* any line is valid */
    offer(w, RAW_U8, line, length);
    return true;
}

static void where_text(const field *f, const shard *part, int64_t k, int64_t element,
                       char text[PLACE_ROOM])
{
    (void)f, (void)part;
    snprintf(text, PLACE_ROOM, "line %lld, byte %lld", (long long)k + 1, (long long)element);
}

const format format_text = {.name = "text",
                            .seeks = true,
                            .ending = ".txt",
                            .open = open_text,
                            .read = read_text,
                            .where = where_text};
