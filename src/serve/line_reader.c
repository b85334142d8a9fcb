/* Lines of a file or of standard input. */
#include "serve/line_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "machine/launch.h"
#include "serve/shared_text.h"

enum { MOST_LINE = 1 << 26, A_READ = 1 << 16 };

static bool fails(line_reader *r, const char *why)
{
    return fail(&r->session->fault, ERR_FILE, "%s: %s", r->name, why);
}

/* Reads more bytes; false at the end, or after an error. */
static bool read_more(line_reader *r)
{
    size_t left = (size_t)r->text.count - r->begin;
    if (r->begin) memmove(r->text.bytes, r->text.bytes + r->begin, left);
    r->text.count = (int64_t)left;
    r->begin = 0;
    if (!bytes_reserve(&r->text, A_READ))
        return fail(&r->session->fault, ERR_MEMORY, "%s: no memory for a line", r->name);
    ssize_t got;
    do {
        got = read(r->file, r->text.bytes + left, A_READ);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return fails(r, strerror(errno));
    r->text.count += got;
    r->text.bytes[r->text.count] = 0;
    if (got > 0) return true;
    if (r->file > STDERR_FILENO) close(r->file);
    r->file = -1;
    return false;
}

/* The first rank reads the whole text, and sends it to the others. */
static bool share(line_reader *r)
{
    const char *text = "";
    if (mtf_is_first(r->session)) {
        while (r->file >= 0 && (read_more(r) || mtf_ok(r->session))) continue;
        if (r->text.bytes && memchr(r->text.bytes, 0, (size_t)r->text.count))
            fails(r, "a zero byte; this is not text");
        if (r->text.bytes) text = r->text.bytes;
    }
    r->file = -1;
    TRY(shared_text(r->session, &text));
    byte_list copy = {.why = NULL};
    if (!bytes_add(&copy, text, strlen(text)))
        return fail(&r->session->fault, ERR_MEMORY, "%s: no memory for its text", r->name);
    bytes_free(&r->text);
    r->text = copy;
    r->begin = 0;
    return true;
}

bool lines_open(line_reader *r, mtf_session *s, const char *path, bool shared)
{
    bool standard = !path || strcmp(path, "-") == 0, alone = !shared || launch_find().size <= 1;
    *r = (line_reader){.session = s, .name = standard ? "standard input" : path, .file = -1};
    if (alone || mtf_is_first(s)) {
        r->file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
        if (r->file < 0) return fail(&s->fault, ERR_FILE, "\"%s\": %s", path, strerror(errno));
    }
    return alone || share(r);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

const char *line_trim(const char *text, size_t *n)
{
    while (*n && is_blank(text[*n - 1])) --*n;
    while (*n && is_blank(*text)) text++, --*n;
    return text;
}

void text_on_one_line(char *text)
{
    for (; *text; text++)
        if (*text == '\n' || *text == '\r') *text = ' ';
}

static line_state give(line_reader *r, size_t length, const char **line, size_t *bytes)
{
    const char *text = r->text.bytes + r->begin;
    size_t      n = length;
    r->number++;
    r->begin += length;
    if (r->begin < (size_t)r->text.count) r->begin++; /* the newline */
    if (memchr(text, 0, n)) {
        fail(&r->session->fault, ERR_FILE, "%s: line %lld has a zero byte; this is not text",
             r->name, (long long)r->number);
        return LINE_FAILED;
    }
    *line = line_trim(text, &n);
    *bytes = n;
    return LINE_READ;
}

static bool comes_now(const line_reader *r)
{
    struct pollfd p = {.fd = r->file, .events = POLLIN};
    return poll(&p, 1, 0) != 0;
}

line_state lines_next(line_reader *r, bool wait, const char **line, size_t *bytes)
{
    for (;;) {
        size_t left = (size_t)r->text.count - r->begin;
        char  *newline = left ? memchr(r->text.bytes + r->begin, '\n', left) : NULL;
        if (newline) return give(r, (size_t)(newline - (r->text.bytes + r->begin)), line, bytes);
        if (r->file < 0) return left ? give(r, left, line, bytes) : LINE_END;
        if (left > MOST_LINE) {
            fail(&r->session->fault, ERR_FILE, "%s: line %lld is longer than %d bytes", r->name,
                 (long long)r->number + 1, MOST_LINE);
            return LINE_FAILED;
        }
        if (!wait && !comes_now(r)) return LINE_NOT_YET;
        if (!read_more(r) && !mtf_ok(r->session)) return LINE_FAILED;
    }
}

void lines_close(line_reader *r)
{
    if (r->file > STDERR_FILENO) close(r->file);
    bytes_free(&r->text);
    *r = (line_reader){.file = -1};
}
