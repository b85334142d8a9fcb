/* Plain text: a line an example, or windows of bytes. */
#include <string.h>

#include "data/format.h"

/* ---- lines ---- */

bool lines_index(mtf_session *s, input_file *f)
{
    const char *bytes = (const char *)f->bytes, *end = bytes + f->size;
    int64_t     count = 0;
    if (f->lines.at) return true;
    for (const char *at = bytes; at < end; count++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
    }
    TRY(input_index(s, &f->lines, count));
    const char *at = bytes;
    for (int64_t k = 0; k < count; k++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        f->lines.at[k] = at - bytes;
        at =
            (stop ? stop : end) + 1; /* behind a last line without end stands an end all the same */
    }
    f->lines.at[count] = count ? at - bytes : 0;
    return true;
}

const char *lines_at(const input_file *f, int64_t k, int64_t *length)
{
    const char *line = (const char *)f->bytes + f->lines.at[k];
    *length = f->lines.at[k + 1] - 1 - f->lines.at[k];
    if (*length && line[*length - 1] == '\r') --*length;
    return line;
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
    (void)f, (void)why; /* any line is right */
    offer(w, RAW_BYTES, line, length);
    return true;
}

const format format_text = {
    .name = "text", .seeks = true, .ending = ".txt", .open = open_text, .read = read_text};

/* ---- windows ---- */

static bool open_bytes(mtf_session *s, field *f, shard *part)
{
    if (f->as.length < 1)
        return fail(
            &s->fault, ERR_USAGE,
            "field \"%s\" is read as windows of bytes; its length should say how long one is",
            f->as.name);
    f->elements = f->as.length;
    part->count = (int64_t)(part->file->size / (size_t)f->elements) +
                  (part->file->size % (size_t)f->elements != 0);
    return true;
}

static bool read_bytes(const field *f, const shard *part, int64_t k, wanted *w, fault *why)
{
    int64_t begin = k * f->elements, rest = (int64_t)part->file->size - begin;
    (void)why; /* any bytes are right */
    offer(w, RAW_BYTES, part->file->bytes + begin, rest < f->elements ? rest : f->elements);
    return true;
}

const format format_bytes = {
    .name = "bytes", .seeks = true, .open = open_bytes, .read = read_bytes};
